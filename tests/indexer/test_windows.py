"""Indexes of models of this project that read the chunks of a document together (late chunking)."""

from dataclasses import replace

import numpy as np
import pytest
from built import make_index, write_files
from conftest import TINY, make_checkpoint

from cdesearch.store.index import Index

PARTS = ["the cat and the dog. ", "water and the moon. ", "bread, river and stone. "]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    config = replace(TINY, first_stage="shared", window_tokens=100)
    return make_checkpoint(tmp_path_factory.mktemp("models") / "windows", config)


@pytest.fixture
def docs(tmp_path):
    parts = [f"{place} {part * 6}" for place, part in enumerate(PARTS * 2)]
    texts = {f"{number}.txt": "\n\n".join(f"{part}{number}" for part in parts) for number in range(3)}
    return write_files(tmp_path / "docs", texts | {"short.txt": "engine light"})


def vectors_of(folder):
    """The stored vectors by path and text."""
    index = Index.open(folder)
    rows = index.chunks.to_arrow()
    keys = zip(rows["path"].to_pylist(), rows["text"].to_pylist(), strict=True)
    return dict(zip(keys, index.vectors_in(rows), strict=True))


@pytest.mark.slow
def test_an_update_with_a_new_context_gives_the_vectors_of_a_fresh_build(docs, model, tmp_path):
    make_index([docs], model=model, vectors="float32")
    edited = docs / "1.txt"
    edited.write_text(edited.read_text().replace("moon", "sun", 1))
    fresh = write_files(tmp_path / "fresh", {file.name: file.read_text() for file in docs.glob("*.txt")})
    make_index([docs], refresh_context=True)
    make_index([fresh], model=model, vectors="float32")
    updated, built = vectors_of(docs), vectors_of(fresh)
    assert updated.keys() == built.keys() and len(updated) > 12
    for key, vector in built.items():
        np.testing.assert_allclose(updated[key], vector, atol=1e-3)


def test_the_windows_that_an_edit_changes_are_embedded_and_no_others(docs, model):
    make_index([docs], model=model)
    before = vectors_of(docs)
    edited, text = docs / "1.txt", (docs / "1.txt").read_text()
    edited.write_text(f"{text}\n\nthe sun.")
    n_chunks = sum(path == "1.txt" for path, _ in vectors_of(docs))
    assert 0 < make_index([docs]).embedded < n_chunks
    edited.write_text(text)
    assert make_index([docs]).embedded == 0
    after = vectors_of(docs)
    assert after.keys() == before.keys() and all(np.array_equal(after[key], before[key]) for key in before)
