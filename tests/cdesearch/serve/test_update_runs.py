import sys
from pathlib import Path

import pytest
from running_server import wait_until

from cdesearch.serve.update_runs import MAX_LINES, UpdateRuns, update_command

FOLDER = Path("somewhere") / ".cdesearch"


@pytest.fixture
def run():
    started = []

    def start(code):
        runs = UpdateRuns(lambda folder: [sys.executable, "-u", "-c", code, str(folder)])
        started.append(runs)
        assert runs.start(FOLDER)
        return runs

    yield start
    for runs in started:
        runs.close()


def test_the_end_of_the_output_is_kept(run):
    runs = run("import sys\nfor n in range(99): print('line', n)\nprint(sys.argv[1], file=sys.stderr)")
    wait_until(lambda: runs.latest(FOLDER).state == "done")
    assert list(runs.latest(FOLDER).lines) == [f"line {n}" for n in range(100 - MAX_LINES, 99)] + [str(FOLDER)]


def test_a_failed_update_shows_why(run):
    runs = run("raise SystemExit('error: the disk is full')")
    wait_until(lambda: runs.latest(FOLDER).state == "failed")
    assert list(runs.latest(FOLDER).lines) == ["error: the disk is full"]


def test_one_update_runs_at_a_time_and_is_stopped_with_the_server(run):
    runs = run("import time\ntime.sleep(600)")
    assert not runs.start(Path("other")) and runs.latest(Path("other")) is None
    assert runs.latest(FOLDER).state == "running"
    runs.close()
    assert runs.latest(FOLDER).state == "failed"
    assert runs.start(FOLDER)


def test_the_command_is_that_of_the_command_line():
    assert update_command(FOLDER)[1:] == ["-P", "-m", "cdesearch", "index", "--index", str(FOLDER)]


@pytest.mark.parametrize("imported", ["typer", "cdesearch"])
def test_an_update_runs_no_code_of_the_working_directory(tmp_path, monkeypatch, imported):
    docs = tmp_path / "docs"
    (docs / imported).mkdir(parents=True)
    (docs / imported / "__init__.py").write_text("open('executed', 'w')")
    monkeypatch.chdir(docs)
    runs = UpdateRuns()
    assert runs.start(docs / ".cdesearch")
    wait_until(lambda: runs.latest(docs / ".cdesearch").ended is not None)
    runs.close()
    assert not (docs / "executed").exists()
    assert "error: There is no index in" in " ".join(runs.latest(docs / ".cdesearch").lines)
