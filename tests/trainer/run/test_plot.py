import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cdesearch.errors import InputError
from trainer.run.plot import check_matplotlib, draw_run

PROGRAM = "import sys; from pathlib import Path; from trainer.run.plot import draw_run; draw_run(Path(sys.argv[1]))"


def write_log(folder):
    rows = [{"step": step, "loss": 1.0 / step} for step in (1, 2, 3)]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))


def test_a_chart_replaces_a_link_and_not_the_file_that_it_leads_to(tmp_path):
    write_log(tmp_path)
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "run.svg").symlink_to(tmp_path / "victim")
    assert "</svg>" in draw_run(tmp_path).read_text()
    assert (tmp_path / "victim").read_text() == "mine" and not (tmp_path / "run.svg").is_symlink()


def test_a_chart_writes_nothing_into_the_home_folder(tmp_path):
    write_log(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    changed = {"HOME": str(home), "USERPROFILE": str(home), "PYTHONPATH": str(Path(__file__).parents[3])}
    left_out = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR")
    environment = {name: value for name, value in os.environ.items() if name not in left_out} | changed
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], env=environment, check=True)
    assert (tmp_path / "run.svg").exists() and list(home.rglob("*")) == []


def test_a_chart_is_refused_before_the_run_if_matplotlib_is_missing(monkeypatch):
    monkeypatch.setattr("trainer.run.plot.find_spec", lambda library: None)
    with pytest.raises(InputError, match=r"matplotlib is not installed, and --plot needs it\. Run .*\[train\]"):
        check_matplotlib()
