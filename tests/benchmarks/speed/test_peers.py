import json

import numpy as np
import pytest

from benchmarks.speed.peers import peers
from benchmarks.speed.synthetic import Material, draw, grow, read_drawn, source_index, write_drawn
from cdesearch.errors import InputError

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _one_cold_run(monkeypatch):
    """Take one cold run instead of several: each is a process that imports everything."""
    monkeypatch.setattr("benchmarks.speed.peers.COLD_RUNS", 1)


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    rows = [{"_id": str(n), "title": "", "text": f"note {n} of the cat and the moon"} for n in range(20)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    queries = [{"_id": str(n), "text": f"cat {n}"} for n in range(14)]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    return folder


def test_each_system_is_measured_in_a_process_of_its_own(corpus, tmp_path):
    peers(corpus, "10", "own", "cdesearch,bm25s", tmp_path / "out")
    (file,) = (tmp_path / "out").glob("*.json")
    found = json.loads(file.read_text())["rows"]
    assert [(row["system"], row["texts"]) for row in found] == [("cdesearch", 10), ("bm25s", 10)]
    assert all(row["p50_ms"] > 0 and row["disk_mb"] > 0 and row["cold_s"] > 0 for row in found)
    assert file.with_suffix(".svg").exists()


def test_drawn_vectors_replace_the_model(corpus, tmp_path):
    peers(corpus, "40", "drawn", "cdesearch,int8 model alone,bm25s", tmp_path / "out")
    (file,) = (tmp_path / "out").glob("peers-drawn-*.json")
    found = json.loads(file.read_text())["rows"]
    assert [row["system"] for row in found] == ["cdesearch", "int8 model alone", "bm25s"]
    assert all(row["p95_ms"] >= row["p50_ms"] > 0 and row["search_gb"] > 0 for row in found)


def test_drawn_texts_and_vectors_are_read_as_they_were_written(corpus, tmp_path):
    source = source_index(corpus, tmp_path / "source")
    write_drawn(source, tmp_path / "drawn", 30)
    ((texts, vectors),) = draw(Material(source), 30)
    ((same_texts, same_vectors),) = read_drawn(tmp_path / "drawn")
    assert texts == same_texts and np.array_equal(vectors, same_vectors)
    assert grow(source, tmp_path / "grown", read_drawn(tmp_path / "drawn")).chunks.count_rows() == 30


def test_an_unknown_system_is_refused(corpus):
    with pytest.raises(InputError, match="no system sphinx"):
        peers(corpus, "10", "own", "sphinx")
