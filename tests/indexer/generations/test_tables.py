"""The tables of a generation, and the segments of its indexes that updates add to them."""

import numpy as np
import pyarrow as pa
import pytest

from cdesearch.store.schema import Chunk, chunk_schema, chunk_to_row
from cdesearch.store.vector_format import VectorFormat
from indexer.generations import tables as module
from indexer.generations.tables import Tables

DIMENSION = 64


def chunk(number):
    name, text = f"{number}.md", f"text {number}"
    return Chunk(f"{number:032x}", name, None, 0, name, "", (), text, 0, line_start=1, line_end=1, page=None)


def vector(number):
    drawn = np.random.default_rng(number).standard_normal(DIMENSION).astype(np.float32)
    return drawn / np.linalg.norm(drawn)


def add(tables, numbers, vector=vector):
    rows = pa.RecordBatch.from_pylist([chunk_to_row(chunk(number)) for number in numbers], schema=chunk_schema(None))
    tables.add(rows, np.stack([vector(number) for number in numbers]), [b""] * len(numbers))


def n_segments(tables, name="vector_idx"):
    return {index.name: index.num_segments for index in tables.chunks.list_indices()}.get(name, 0)


def found_by_words(tables, number):
    search = tables.chunks.search(str(number), query_type="fts", fts_columns="words")
    return [int(row["id"], 16) for row in search.limit(3).select(["id"]).to_list()]


def segment_files(tables, folder):
    """The size of each file of a vector index, by the random name of its folder."""
    return {file.parent.name: file.stat().st_size for file in folder.rglob("auxiliary.idx")}


@pytest.fixture(params=["a graph", "signs"])
def vectors(request, monkeypatch):
    """The format of vectors whose index, from 300 chunks on, is of the kind that the parameter names."""
    for name in ("VECTOR_INDEX_FROM", "BITS_INDEX_FROM"):
        monkeypatch.setattr(module, name, 300)
    return VectorFormat("int8" if request.param == "signs" else "float16", DIMENSION)


@pytest.fixture
def tables(tmp_path, monkeypatch, vectors):
    monkeypatch.setattr(module, "JOIN_RATIO", 3)
    tables = Tables(tmp_path, vectors)
    add(tables, range(400))
    tables.finish()
    return tables


def test_updates_keep_the_large_segment_and_never_have_many_small_ones(tables, vectors, tmp_path):
    (large,) = segment_files(tables, tmp_path)
    present = set(range(400))
    counts = []
    for update in range(12):
        fresh = {1000 + 3 * update + more for more in range(3)}
        gone = {update, *([1000 + 3 * (update - 2)] if update > 1 else [])}
        tables.delete(f"{number:032x}" for number in gone)
        add(tables, sorted(fresh))
        tables.finish()
        present = present - gone | fresh
        counts.append(n_segments(tables))
        assert large in segment_files(tables, tmp_path)
    assert 2 in counts and max(counts) <= 4
    found = tables.chunks.search().limit(10_000).to_arrow()
    assert sorted(int(name, 16) for name in found["id"].to_pylist()) == sorted(present)
    expected = vectors.rounded(np.stack([vector(int(name, 16)) for name in found["id"].to_pylist()]))
    np.testing.assert_array_equal(vectors.decode(found), expected)
    assert tables.chunks.index_stats("vector_idx").num_unindexed_rows == 0
    assert tables.chunks.index_stats("words_idx").num_unindexed_rows == 0


def test_updates_of_a_large_index_never_write_most_of_its_words_again(tables, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "WORD_SEGMENTS_FROM", 300)
    postings = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("part_*_invert.lance")}
    for update in range(9):
        tables.delete([f"{update:032x}"])
        add(tables, [1000 + 3 * update + more for more in range(3)])
        tables.finish()
        assert 2 <= n_segments(tables, "words_idx") <= 4
        assert tables.chunks.index_stats("words_idx").num_unindexed_rows == 0
    assert all(file.stat().st_mtime_ns == time for file, time in postings.items())
    for number in [9, 399, *range(1000, 1027)]:
        assert found_by_words(tables, number) == [number]
    assert not found_by_words(tables, 8)
    add(tables, range(2000, 2090))
    tables.finish()
    assert n_segments(tables, "words_idx") == 1


def test_the_largest_segment_is_built_again_when_a_fifth_of_the_chunks_is_new(tables, tmp_path):
    (large,) = segment_files(tables, tmp_path)
    add(tables, range(1000, 1090))
    tables.finish()
    assert large in segment_files(tables, tmp_path) and n_segments(tables) == 2
    add(tables, range(1100, 1120))
    tables.finish()
    assert large not in segment_files(tables, tmp_path) and n_segments(tables) == 1
    assert tables.chunks.index_stats("vector_idx").num_unindexed_rows == 0


def test_a_table_of_new_chunks_alone_gets_a_new_index(tables):
    tables.delete(f"{number:032x}" for number in range(400))
    add(tables, range(1000, 1350))
    tables.finish()
    assert n_segments(tables) == 1 and tables.chunks.index_stats("vector_idx").num_indexed_rows == 350


def test_after_updates_every_chunk_is_found_once_by_its_vector_and_by_its_text(tables, vectors):
    for update in range(9):
        add(tables, [1000 + update])
        tables.finish()
    for number in [0, 250, 399, *range(1000, 1009)]:
        search = tables.chunks.search(vectors.sought(vector(number)), vector_column_name=vectors.searched)
        nearest = search.distance_type(vectors.distance).nprobes(10).limit(3).select(["id"]).to_list()
        assert [int(row["id"], 16) for row in nearest].count(number) == 1 and int(nearest[0]["id"], 16) == number
        assert found_by_words(tables, number) == [number]
