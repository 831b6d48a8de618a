"""Indexes of models of this project that read the chunks of a document together (late chunking)."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import TINY, make_checkpoint

import cdesearch
from cdesearch.context.document import add_document_context
from cdesearch.encode.load import load_encoder
from cdesearch.progress import Silent
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options

PARTS = ["the cat and the dog. ", "water and the moon. ", "bread, river and stone. "]


@pytest.fixture(scope="module", params=["running", "restarted"])
def model(request, tmp_path_factory):
    config = replace(TINY, first_stage="shared", window_tokens=100, window_positions=request.param)
    return make_checkpoint(tmp_path_factory.mktemp("models") / "windows", config)


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(3):
        text = "\n\n".join(f"{place} {part * 6}{number}" for place, part in enumerate(PARTS * 2))
        (folder / f"{number}.txt").write_text(text)
    (folder / "short.txt").write_text("engine light")
    return folder


def run(folder, model=None, **options):
    return build([folder], Options(model=model, **options), progress=Silent())


def vectors_of(folder):
    """The stored vectors by path and text."""
    index = Index.open(folder)
    rows = index.chunks.to_arrow()
    keys = zip(rows["path"].to_pylist(), rows["text"].to_pylist(), strict=True)
    return dict(zip(keys, index.vectors_in(rows), strict=True))


@pytest.mark.slow
def test_an_update_of_one_document_equals_a_fresh_encoding_in_the_same_context(docs, model):
    run(docs, model, vectors="float32")
    before = vectors_of(docs)
    edited = docs / "1.txt"
    edited.write_text(edited.read_text().replace("moon", "sun", 1))
    run(docs)
    after, index, encoder = vectors_of(docs), Index.open(docs), load_encoder(model)
    context = index.context_for(encoder)
    rows = index.chunks.to_arrow()
    paths, texts = np.array(rows["path"].to_pylist()), rows["text"].to_pylist()
    for path in set(paths):
        chunks = [text for text, name in zip(texts, paths, strict=True) if name == path]
        own = encoder.encode_chunks(chunks, [range(len(chunks))], context)
        wanted = add_document_context(own, encoder.config.document_weight)
        found = np.array([after[path, text] for text in chunks])
        np.testing.assert_allclose(found, wanted, atol=1e-4)
    kept = before.keys() & after.keys()
    moved = {key[0] for key in kept if np.abs(before[key] - after[key]).max() > 1e-4}
    assert moved == {"1.txt"} and len(kept) > 6


def test_an_update_with_a_new_context_gives_the_vectors_of_a_fresh_build(docs, model, tmp_path):
    run(docs, model, vectors="float32")
    edited = docs / "1.txt"
    edited.write_text(edited.read_text().replace("moon", "sun", 1))
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    for file in docs.glob("*.txt"):
        (fresh / file.name).write_text(file.read_text())
    run(docs, refresh_context=True)
    run(fresh, model, vectors="float32")
    updated, built = vectors_of(docs), vectors_of(fresh)
    assert updated.keys() == built.keys() and len(updated) > 12
    for key, vector in built.items():
        np.testing.assert_allclose(updated[key], vector, atol=1e-6)


def test_a_changed_document_is_embedded_as_a_whole_and_no_other(docs, model):
    run(docs, model)
    edited = docs / "1.txt"
    edited.write_text(f"{edited.read_text()}\n\nthe sun.")
    assert run(docs).embedded == sum(path == "1.txt" for path, _ in vectors_of(docs))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["hybrid", "dense", "rerank"])
def test_every_mode_finds_the_passage_that_equals_the_query(docs, model, mode):
    run(docs, model)
    found = cdesearch.open(docs).search("short.txt engine light", mode=mode, k=1)
    assert [hit.chunk.path for hit in found] == ["short.txt"]
