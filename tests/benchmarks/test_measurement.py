import json

import pytest

from benchmarks.measurement import Measurement, measure
from cdesearch.errors import InputError


def test_every_suite_is_kept_with_its_settings_and_machine(tmp_path, capsys):
    suites = {"one": lambda: [Measurement("rate", 1234.5, "ms", at_most=2000)], "two": lambda: []}
    measure("speed", suites, {"seed": 3}, tmp_path / "out")
    (file,) = (tmp_path / "out").glob("speed-one-*.json")
    record = json.loads(file.read_text())
    assert record["settings"] == {"seed": 3} and record["machine"]["cores"] > 0
    assert record["figures"][0]["value"] == 1234.5 and len(list((tmp_path / "out").iterdir())) == 2
    assert "2000" in capsys.readouterr().out


def test_a_file_in_the_place_of_the_results_is_refused_before_anything_is_measured(tmp_path):
    (tmp_path / "out").write_text("")
    measured = []
    with pytest.raises(InputError, match=r"--out is .*out, which is not a folder\. Name a folder"):
        measure("speed", {"one": lambda: measured.append(1) or []}, {}, tmp_path / "out")
    assert not measured
