import json
import os
import subprocess
import sys

import pytest
from hidden_libraries import run_module_without

from cdesearch.errors import InputError
from trainer.run.log import FILE, Log, read_log
from trainer.run.plot import draw_run


def write_torn_log(folder):
    log = Log(folder, anew=True)
    for step in (1, 2):
        log.write(step, 0.5, {"loss": 1.0})
    with (folder / FILE).open("a") as file:
        file.write('{"step": 3, "seco')
    return folder / FILE


def test_a_last_line_that_a_kill_has_cut_off_is_left_out(tmp_path):
    write_torn_log(tmp_path)
    assert [line["step"] for line in read_log(tmp_path)] == [1, 2]
    assert "</svg>" in draw_run(tmp_path).read_text()


def test_a_resumed_run_removes_a_torn_line_before_it_writes_the_next_one(tmp_path):
    file = write_torn_log(tmp_path)
    Log(tmp_path, anew=False).write(3, 0.7, {"loss": 0.9})
    assert [json.loads(line)["step"] for line in file.read_text().splitlines()] == [1, 2, 3]


def test_a_line_that_is_damaged_elsewhere_is_named(tmp_path):
    (tmp_path / FILE).write_text('{"step": 1}\n{"step": 2, "lo\n{"step": 3}\n')
    with pytest.raises(InputError, match=r"log\.jsonl:2 is not a line of a log"):
        read_log(tmp_path)


def test_the_numbers_of_a_resumed_run_are_one_run_in_trackio(tmp_path):
    """In a process of its own, because trackio reads where it keeps its files when it is imported."""
    pytest.importorskip("trackio")
    program = (
        "from pathlib import Path; from trainer.run.log import Log\n"
        "for step, anew in ((1, True), (2, False)):\n"
        "    log = Log(Path('out'), anew=anew, project='test')\n"
        "    log.write(step, 0.5, {'loss': 1.0 / step, 'held_out': {'true': 3.0}})\n"
        "    log.finish()\n"
        "import trackio\n"
        "(run,) = trackio.Api().runs('test')\n"
        "rows = trackio.SQLiteStorage.get_logs('test', run.name)\n"
        "print('RUN', run.name, [(row['step'], row['loss'], row['held_out/true']) for row in rows])\n"
    )
    (tmp_path / "out").mkdir()
    environment = os.environ | {"TRACKIO_DIR": str(tmp_path / "trackio"), "HF_HUB_OFFLINE": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "RUN out [(1, 1.0, 3.0), (2, 0.5, 3.0)]" in run.stdout, run.stdout


@pytest.mark.slow
def test_a_recipe_with_trackio_needs_it(tmp_path):
    (tmp_path / "recipe.toml").write_text(
        '[data]\npairs = ["pairs.jsonl"]\n[model]\nstart = "m"\n[run]\nout = "o"\ntrackio = "project"\n'
    )
    (tmp_path / "pairs.jsonl").write_text('{"query": "q", "document": "d"}')
    run = run_module_without("trackio", "cdesearch", "train", "recipe.toml", cwd=tmp_path)
    assert run.returncode == 2 and run.stderr.startswith("error: trackio is not installed, and run.trackio needs it.")
