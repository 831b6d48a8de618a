"""Indexes of pplx-embed: its codes are stored as they are, and the chunks of a document are encoded together."""

import numpy as np
import pytest
from built import make_index, write_files
from random_pplx import pplx_folder

from cdesearch.context.document import add_document_context
from cdesearch.context.rounding import to_codes
from cdesearch.encode.load import load_encoder
from cdesearch.store.index import Index

pytest.importorskip("transformers")
PARTS = ["the cat sleeps. ", "a dog in the water. ", "bread and stone. "]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The plain and the context checkpoint, by whether chunks are read together."""
    folder = tmp_path_factory.mktemp("models")
    return {joins: pplx_folder(folder / str(joins), is_contextual=joins) for joins in (False, True)}


@pytest.fixture
def docs(tmp_path):
    # All but one are of several chunks: each byte is a token.
    texts = {f"{n}.txt": "\n\n".join(f"{part * 20}{n}" for part in PARTS) for n in range(3)}
    return write_files(tmp_path / "docs", texts | {"short.txt": "moon light"})


def rows_of(folder):
    """The index, and its chunks by path; those of a document are in order."""
    index = Index.open(folder)
    rows = index.chunks.to_arrow()
    return index, rows.take(np.argsort(np.array(rows["path"].to_pylist()), kind="stable"))


def by_document(rows):
    """The texts of the chunks of every document."""
    texts = {path: [] for path in rows["path"].to_pylist()}
    for path, text in zip(rows["path"].to_pylist(), rows["text"].to_pylist(), strict=True):
        texts[path].append(text)
    return texts.values()


def own_vectors(encoder, chunks, context):
    """The vectors that the encoder gives the chunks of a document."""
    if not encoder.joins_chunks:
        return encoder.encode(chunks, "document", context)
    parts = encoder.windows(chunks)
    return np.concatenate([encoder.encode_window(chunks[part.start : part.stop], context) for part in parts])


@pytest.mark.parametrize("joins", [False, True])
def test_a_plain_index_of_int8_stores_the_codes_of_the_model(docs, models, joins):
    make_index([docs], model=models[joins], plain=True, vectors="int8")
    _, rows = rows_of(docs)
    stored = np.array(rows["codes"].to_pylist())
    encoder = load_encoder(models[joins], plain=True)
    wanted = np.concatenate([to_codes(own_vectors(encoder, chunks, None))[0] for chunks in by_document(rows)])
    assert len(set(rows["path"].to_pylist())) == 4 and len(stored) > 8
    assert np.abs(stored - wanted).max() <= 1
    assert np.abs(stored).max(axis=1).min() < 127  # they were not scaled up to the largest code


@pytest.mark.slow
@pytest.mark.parametrize("joins", [False, True])
@pytest.mark.parametrize("is_plain", [False, True])
def test_an_update_stores_what_the_model_makes_of_the_whole_documents(docs, models, joins, is_plain):
    make_index([docs], model=models[joins], plain=is_plain)
    edited = docs / "1.txt"
    edited.write_text(edited.read_text().replace("dog", "cow", 1))
    (docs / "2.txt").unlink()
    make_index([docs], model=models[joins])
    index, rows = rows_of(docs)
    encoder = load_encoder(models[joins], plain=is_plain)
    weight = encoder.config.document_weight
    own = [own_vectors(encoder, chunks, index.context_for(encoder)) for chunks in by_document(rows)]
    wanted = np.concatenate([add_document_context(vectors, weight) for vectors in own])
    np.testing.assert_allclose(index.vectors_in(rows), wanted, atol=5e-3)
