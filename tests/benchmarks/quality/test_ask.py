import json

import pytest
from meeting_file import write_meetings

from benchmarks.quality.ask import ask


@pytest.mark.slow
def test_passages_and_answers_are_measured(tmp_path, capsys):
    ask(write_meetings(tmp_path / "m.parquet"), "20,500", None, tmp_path / "work", tmp_path / "out")
    figures = {}
    for file in (tmp_path / "out").glob("*.json"):
        figures |= {one["name"]: one["value"] for one in json.loads(file.read_text())["figures"]}
    for system in ("passages of cdesearch", "plain top-k of BM25", "plain top-k of MiniLM"):
        assert figures[f"{system}, 500 tokens: share of the labelled lines"] == 100
    assert figures["passages of cdesearch, 20 tokens: share of the labelled lines"] < 100
    assert 0 < figures["quotes: at least one labelled"] <= 100
