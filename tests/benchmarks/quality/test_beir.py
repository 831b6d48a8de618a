import json

import pytest
from beir_folder import write_set

from benchmarks.quality.beir import beir
from cdesearch.errors import InputError


@pytest.mark.slow
def test_systems_are_compared_and_the_report_is_written(tmp_path, tiny_checkpoint, capsys):
    data = [str(write_set(tmp_path / name)) for name in ("one", "two")]
    systems = "bm25,minilm+bm25,true,random,null,document,dense,hybrid"
    beir(data, systems, tiny_checkpoint, "all", tmp_path / "work", tmp_path / "out")
    (file,) = (tmp_path / "out").glob("*.json")
    report = json.loads(file.read_text())
    rows = {(row["dataset"], row["system"]): row for row in report["rows"]}
    assert len(rows) == 2 * 8
    assert rows["one", "BM25 (bm25s)"]["measures"]["nDCG@10"] == 100
    assert "bm25" in rows["two", "all-MiniLM-L6-v2 + BM25"]["against"]
    assert file.with_suffix(".md").read_text().count("| BM25") == 1
    assert "Command: `python -m benchmarks" in capsys.readouterr().out


def test_systems_that_cannot_be_compared_are_refused(tmp_path, tiny_checkpoint):
    data = [str(write_set(tmp_path / "one"))]
    for systems, named in (("bm52", "no system bm52"), ("random", "another data set")):
        with pytest.raises(InputError, match=named):
            beir(data, systems, tiny_checkpoint, "all", tmp_path / "work", tmp_path / "out")
