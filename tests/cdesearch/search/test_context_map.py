import numpy as np
import pytest

import cdesearch
from cdesearch.context.vectors import to_unit
from cdesearch.search import context_map
from cdesearch.search.context_map import MAX_FOLDERS, OTHERS, ContextMap, MapFolder, folders_of
from cdesearch.search.drift import measure_drift

WORDS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone", "light"]


@pytest.fixture(scope="module")
def index(tmp_path_factory, tiny_checkpoint):
    root = tmp_path_factory.mktemp("corpus")
    for number in range(60):
        folder = root / f"part{number % 3}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.txt").write_text(f"the {WORDS[number % 9]} and the {WORDS[number // 9]} {number}")
    return cdesearch.build(root, model=tiny_checkpoint).index


def stored(index):
    table = index.chunks.search().limit(100).to_arrow()
    return dict(zip(table["id"].to_pylist(), to_unit(index.vectors_in(table)), strict=True))


def test_every_chunk_is_a_point_and_the_context_is_marked(index):
    found, vectors = ContextMap.of(index), stored(index)
    ids = [chunk.id for chunk in found.chunks]
    assert sorted(ids) == sorted(vectors)
    in_order = np.stack([vectors[chunk] for chunk in ids])
    np.testing.assert_allclose(found.points, found.projection.apply(in_order), atol=1e-6)
    marked = {chunk for chunk, is_context in zip(ids, found.is_context, strict=True) if is_context}
    assert marked == set(index.context.sampled.chunk_ids) and len(marked) == 32
    assert found.drift.standard_errors == measure_drift(index).standard_errors
    assert found.folders == tuple(MapFolder(f"part{number}", 20) for number in range(3))


def test_a_larger_corpus_is_sampled_with_the_whole_context(index, monkeypatch):
    monkeypatch.setattr(context_map, "MAP_SAMPLE", 10)
    found = ContextMap.of(index)
    assert 32 <= len(found.chunks) < 60 and found.is_context.sum() == 32
    assert found.n_chunks == 60
    assert [chunk.id for chunk in ContextMap.of(index).chunks] == [chunk.id for chunk in found.chunks]


def test_any_chunk_is_located_on_the_map(index, monkeypatch):
    monkeypatch.setattr(context_map, "MAP_SAMPLE", 10)
    found, vectors = ContextMap.of(index), stored(index)
    ids = sorted(vectors)[::-1]
    expected = found.projection.apply(np.stack([vectors[chunk] for chunk in ids]))
    located = found.locate(index, [*ids, "unknown"])
    np.testing.assert_allclose([located[chunk] for chunk in ids], expected, atol=1e-6)
    assert len(located) == len(ids) and found.locate(index, []) == {}


def test_folders_are_those_below_the_deepest_common_folder():
    folders, of = folders_of(["a/b/c/1", "a/b/c/2", "a/b/d/e/3", "a/b/4"])
    assert folders == (MapFolder("a/b/c", 2), MapFolder("a/b", 1), MapFolder("a/b/d", 1))
    assert of == (0, 0, 2, 1)
    assert folders_of(["1", "2"]) == ((MapFolder("", 2),), (0, 0))
    assert folders_of([]) == ((), ())


def test_many_folders_are_shown_as_a_few():
    paths = [f"{folder}/{number}" for folder in range(20) for number in range(20 - folder)]
    folders, of = folders_of(paths)
    assert len(folders) == MAX_FOLDERS and folders[-1].name is OTHERS
    assert [sum(position == number for position in of) for number in range(MAX_FOLDERS)] == [
        folder.points for folder in folders
    ]
