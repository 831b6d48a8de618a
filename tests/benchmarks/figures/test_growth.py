import json

import pytest
from beir_folder import WORDS

from benchmarks.figures.command import analyse
from benchmarks.figures.growth import pool_sizes
from cdesearch.errors import InputError


def test_queries_of_one_document_find_each_other(tmp_path, closed_checkpoint):
    rows = [{"query": f"{word} {word} {n}", "document": f"the {word}"} for word in WORDS for n in range(2)]
    rows += [{"query": f"{n} {m}", "document": f"number {n} {m}"} for n in range(10) for m in range(10)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    data = [tmp_path / "pairs.jsonl"]
    analyse("growth", data, closed_checkpoint, None, None, tmp_path / "work", tmp_path / "out")
    (file,) = (tmp_path / "out").glob("*.json")
    series = json.loads(file.read_text())["figure"]["series"]
    found = dict(series["plain, float32, R@10"])
    assert list(found) == [8, 25, 80, 108], "8 answers, and at most all queries but the 8 that ask"
    assert found[8] == 100, "no more than ten are in the pool"
    assert found[108] < found[8], "more queries that could be found in their place"


def test_pools_grow_by_the_same_factor_up_to_all_queries():
    assert pool_sizes(47_000, 465_000) == [47_000, 148_627, 465_000]
    assert pool_sizes(5, 5) == [5]


def test_pairs_whose_documents_have_one_query_each_are_refused(tmp_path, closed_checkpoint):
    (tmp_path / "pairs.jsonl").write_text('{"query": "a", "document": "b"}')
    with pytest.raises(InputError, match="No document"):
        analyse("growth", [tmp_path / "pairs.jsonl"], closed_checkpoint, None, None, tmp_path, tmp_path)
