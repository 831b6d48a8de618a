import subprocess

import pytest
from command import cdesearch
from object_server import SECRET, move_to_computer

from cdesearch.errors import BucketError, CdesearchError
from cdesearch.search.searcher import Searcher
from cdesearch.store.bucket import connection
from cdesearch.store.index import Index

QUERY = "the moon is in the house"


def hits(index, encoder):
    with Searcher(index, encoder) as searcher:
        return [(hit.chunk.id, hit.score) for hit in searcher.search(QUERY, 5)]


@pytest.mark.slow
def test_passing_faults_change_nothing(store, run, docs, tiny_encoder, tmp_path, monkeypatch):
    """5% of requests fail with 503, and 5% of the connections are cut, at a latency of 20 ms."""
    store.failing = store.cut = 0.05
    store.latency = 0.02
    run()
    (docs / "new.md").write_text("the bread is in the river")
    run()
    store.failing = store.cut = 0.0
    sound = hits(Index.open(store.place), tiny_encoder)
    store.failing = store.cut = 0.05
    for number in range(3):
        move_to_computer(f"reader {number}", tmp_path, monkeypatch)
        assert hits(Index.open(store.place), tiny_encoder) == sound


def test_a_bucket_that_vanishes_during_a_query_has_one_error_and_returns_unharmed(store, run, tiny_encoder):
    run()
    index = Index.open(store.place)
    sound = hits(index, tiny_encoder)
    with Searcher(Index.open(store.place), tiny_encoder) as searcher:
        store.is_gone = True
        with pytest.raises(BucketError, match="does not exist"):
            searcher.search(QUERY, 5)
        with pytest.raises(BucketError, match="does not exist"):
            Index.open(store.place)
        store.is_gone = False
        assert [(hit.chunk.id, hit.score) for hit in searcher.search(QUERY, 5)] == sound


def test_a_server_that_refuses_connections_or_access_has_one_line_without_keys(store, run, monkeypatch, tmp_path):
    run()
    monkeypatch.setattr(connection, "MAX_RETRIES", 1)
    connection_errors = []
    store.before = lambda *_: None
    store.is_read_only = True
    (tmp_path / "docs" / "new.md").write_text("bread")
    refused = cdesearch("index", "docs", "--index", store.address, "--model", "x", cwd=tmp_path, code=None)
    store.close()
    gone = cdesearch("query", QUERY, "--index", store.address, cwd=tmp_path, code=2)
    assert "cannot be read" in gone.stderr and SECRET not in gone.stderr
