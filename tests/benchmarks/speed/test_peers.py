import json

import pytest

from benchmarks.speed.peers import peers
from cdesearch.errors import InputError

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _one_cold_run(monkeypatch):
    """Take one cold run instead of several: each is a process that imports everything."""
    monkeypatch.setattr("benchmarks.speed.peers.COLD_RUNS", 1)


@pytest.mark.parametrize("vectors", ["own", "drawn"])
def test_each_system_is_measured_in_a_process_of_its_own(corpus, tmp_path, vectors):
    peers(corpus, "40", vectors, "cdesearch,bm25s", tmp_path / "out")
    (file,) = (tmp_path / "out").glob(f"peers-{vectors}-*.json")
    found = json.loads(file.read_text())["rows"]
    assert [(row["system"], row["texts"]) for row in found] == [("cdesearch", 40), ("bm25s", 40)]
    assert all(row["p95_ms"] >= row["p50_ms"] > 0 and row["disk_mb"] > 0 and row["cold_s"] > 0 for row in found)


def test_an_unknown_system_is_refused(corpus):
    with pytest.raises(InputError, match="no system sphinx"):
        peers(corpus, "10", "own", "sphinx")
