import json

import pytest
from beir_folder import WORDS, write_set
from typer.testing import CliRunner

from benchmarks.commands import app
from benchmarks.datasets.dataset import read_dataset
from benchmarks.quality.adapted import _Comparing


@pytest.mark.slow
def test_a_set_that_adapt_refuses_gains_nothing_and_says_why(tmp_path):
    write_set(tmp_path / "small")
    arguments = [tmp_path / "small", "--work", tmp_path / "work", "--out", tmp_path / "out"]
    run = CliRunner().invoke(app, ["adapted", *map(str, arguments)], catch_exceptions=False)
    assert run.exit_code == 0, run.output
    (file,) = (tmp_path / "out").glob("adapted-labels-*.json")
    figures = {one["name"]: one for one in json.loads(file.read_text())["figures"]}
    assert list(figures) == ["small, dense", "small, hybrid", "mean of 1, dense", "mean of 1, hybrid"]
    assert {one["value"] for one in figures.values()} == {0.0}
    assert f"The index has {len(WORDS)} chunks" in figures["small, dense"]["detail"]["adapt"]
    assert figures["mean of 1, hybrid"]["at_least"] == 0.3


@pytest.mark.slow
def test_the_gain_is_the_difference_by_labels_between_both_models(tmp_path, closed_checkpoint):
    dataset = read_dataset(write_set(tmp_path / "small"))
    comparing = _Comparing(tmp_path / "work", 1, 32)
    for kind, row in comparing._gains(dataset, closed_checkpoint, "told"):
        assert row.value == pytest.approx(row.detail["after"] - row.detail["before"])
        assert row.detail["after"] == pytest.approx(comparing._scores(dataset, closed_checkpoint)[kind].mean())
        assert row.detail["adapt"] == "told"
