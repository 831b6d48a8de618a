import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from benchmarks.commands import app

TOPICS = ("cat", "dog", "moon", "bread", "river", "engine", "stone", "light")


@pytest.mark.slow
def test_tuning_is_compared_with_the_default(tmp_path):
    pairs = [
        {
            "query": f"what has the {one} to do with a {two}",
            "document": f"A {one} met a {two} at noon beside the old bridge. Nobody in the village had seen a {two}"
            f" of this kind before. The {one} stayed until the evening and then went home alone.",
        }
        for one in TOPICS
        for two in TOPICS
        if one != two
    ]
    pq.write_table(pa.Table.from_pylist(pairs), tmp_path / "topics.parquet")
    arguments = [tmp_path / "topics.parquet", "--tests", 20, "--labelled", 20, "--own", 20]
    arguments += ["--work", tmp_path / "work", "--out", tmp_path / "out"]
    run = CliRunner().invoke(app, ["tune", *map(str, arguments)], catch_exceptions=False)
    assert run.exit_code == 0, run.output
    names = {}
    for file in (tmp_path / "out").glob("*.json"):
        names[file.name.split("-")[1]] = [one["name"] for one in json.loads(file.read_text())["figures"]]
    assert names["topics"] == ["default", "tuned by own questions", "tuned by labelled questions"]
    assert names["all"] == ["tuned by own questions", "tuned by labelled questions"]
