"""Indexes of models of this project that read the chunks of a document together (late chunking)."""

import json
from dataclasses import replace

import numpy as np
import pytest
from built import make_index
from conftest import TINY, make_checkpoint

from cdesearch.context.document import add_document_context
from cdesearch.encode.load import load_encoder
from cdesearch.store.index import Index

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
    return make_index([folder], model=model, **options)


def vectors_of(folder):
    """The stored vectors by path and text."""
    index = Index.open(folder)
    rows = index.chunks.to_arrow()
    keys = zip(rows["path"].to_pylist(), rows["text"].to_pylist(), strict=True)
    return dict(zip(keys, index.vectors_in(rows), strict=True))


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


@pytest.mark.parametrize(("vectors", "tolerance"), [("float32", 1e-4), ("float16", 2e-3)])
def test_an_update_embeds_only_the_windows_that_an_edit_changes(docs, model, vectors, tolerance):
    report = run(docs, model, vectors=vectors)
    before = vectors_of(docs)
    of_document = sum(path == "1.txt" for path, _ in before)
    edited = docs / "1.txt"
    edited.write_text(f"{edited.read_text()}\n\nthe sun.")
    assert report.embedded > of_document > run(docs).embedded > 0
    updated, index, encoder = vectors_of(docs), Index.open(docs), load_encoder(model)
    kept = before.keys() & updated.keys()
    moved = {key[0] for key in kept if np.abs(before[key] - updated[key]).max() > tolerance}
    assert moved == {"1.txt"} and len(kept) > 6
    rows = index.chunks.search().where("path = '1.txt'").to_arrow()
    places = [json.loads(place)["ordinal"] for place in rows["place"].to_pylist()]
    texts = [text for _, text in sorted(zip(places, rows["text"].to_pylist(), strict=True))]
    own = encoder.encode_chunks(texts, [range(len(texts))], index.context_for(encoder))
    wanted = add_document_context(own, encoder.config.document_weight)
    np.testing.assert_allclose([updated["1.txt", text] for text in texts], wanted, atol=tolerance)
    (docs / "folder").mkdir()
    edited.rename(docs / "folder" / "1.txt")
    (docs / "0.txt").unlink()
    assert run(docs).embedded == 0


def test_without_the_vectors_of_single_chunks_a_changed_document_is_embedded_as_a_whole(docs, model):
    run(docs, model, vectors="int8")
    edited = docs / "1.txt"
    edited.write_text(f"{edited.read_text()}\n\nthe sun.")
    assert run(docs).embedded == sum(path == "1.txt" for path, _ in vectors_of(docs))
