"""A large index of words: an update adds to it, and does not write it again."""

import pytest
from lancedb.table import LanceTable

from cdesearch.store.vector_format import VectorFormat
from indexer.generations import segments
from indexer.generations.tables import Tables
from tests.indexer.generations.test_tables import DIMENSION, add, add_text

CHUNKS = 300


@pytest.fixture(autouse=True)
def small_limit(monkeypatch):
    monkeypatch.setattr(segments, "LARGE_SEGMENT", 200)


def with_more(folder, numbers):
    """The table in `folder`, which is made if there is none, with some more chunks."""
    tables = Tables(folder, VectorFormat("float32", DIMENSION))
    add(tables, numbers)
    tables.finish()
    return tables


def word_segments(tables):
    return {index.name: index.num_segments for index in tables.chunks.list_indices()}["text_idx"]


def word_files(folder):
    return {file for file in folder.rglob("*_invert.lance") if file.stat().st_size}


def scores(tables, query):
    found = tables.chunks.search(query, query_type="fts", fts_columns="text").limit(10_000).to_list()
    return {row["id"]: row["_score"] for row in found}


def test_updates_leave_a_large_index_of_words_and_share_one_segment_until_it_is_large_too(tmp_path):
    with_more(tmp_path, range(CHUNKS))
    large = word_files(tmp_path)
    counts = []
    for start in range(1000, 1400, 80):
        tables = with_more(tmp_path, range(start, start + 80))
        assert large <= word_files(tmp_path)
        counts.append(word_segments(tables))
    assert counts == [2, 2, 2, 3, 3]
    assert tables.chunks.index_stats("text_idx").num_unindexed_rows == 0


def test_scores_are_those_of_an_index_in_one_piece(tmp_path):
    with_more(tmp_path / "updated", range(CHUNKS))
    updated = with_more(tmp_path / "updated", range(CHUNKS, CHUNKS + 50))
    whole = with_more(tmp_path / "whole", range(CHUNKS + 50))
    assert word_segments(updated) == 2 and word_segments(whole) == 1
    for query in ("text", "7", "text 320", "310 12"):
        assert scores(updated, query) == pytest.approx(scores(whole, query), abs=1e-6)
        assert scores(whole, query)


def test_a_changed_chunk_is_found_by_its_new_words_alone(tmp_path):
    tables = with_more(tmp_path, range(CHUNKS))
    tables.delete([f"{7:032x}"])
    add_text(tables, 7, "a new sentence")
    tables.finish()
    assert word_segments(tables) == 2
    assert scores(tables, "7") == {} and list(scores(tables, "sentence")) == [f"{7:032x}"]


def test_words_of_another_script_lead_to_a_new_index_in_one_piece(tmp_path):
    with_more(tmp_path, range(CHUNKS))
    with_more(tmp_path, [1000])
    tables = Tables(tmp_path, VectorFormat("float32", DIMENSION))
    add_text(tables, 1001, "東京都")
    tables.finish()
    assert word_segments(tables) == 1
    assert list(scores(tables, "東京")) == [f"{1001:032x}"] and list(scores(tables, "1000")) == [f"{1000:032x}"]


def test_without_the_library_lancedb_writes_the_index_of_words_again(tmp_path, monkeypatch):
    def missing(_):
        raise ImportError("no module named lance")

    monkeypatch.setattr(LanceTable, "to_lance", missing)
    with_more(tmp_path, range(CHUNKS))
    tables = with_more(tmp_path, [1000])
    assert word_segments(tables) == 1 and list(scores(tables, "1000")) == [f"{1000:032x}"]
