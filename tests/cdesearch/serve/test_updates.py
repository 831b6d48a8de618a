import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from built import write_files
from running_server import running_server, wait_until

from cdesearch.child_process import python_module, same_modules
from cdesearch.serve import updates
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.settings import ServeSettings
from cdesearch.serve.updates import UpdateRuns, Watcher, update_command

FOLDER = Path("somewhere") / ".cdesearch"
PATIENCE = 1.0  # seconds, several times as long as a watcher needs to report a change


@contextmanager
def running(code):
    """An update that runs a program of Python instead of the command."""
    runs = UpdateRuns(lambda folder: [sys.executable, "-u", "-c", code, str(folder)])
    assert runs.start(FOLDER)
    yield runs
    runs.close()


def test_one_update_runs_at_a_time_and_is_stopped_with_the_server():
    with running("import time\ntime.sleep(600)") as runs:
        assert not runs.start(Path("other")) and runs.latest(Path("other")) is None
        assert runs.latest(FOLDER).state == "running"
        runs.close()
        assert runs.latest(FOLDER).state == "failed"
        assert runs.start(FOLDER)


@pytest.mark.parametrize("imported", ["typer", "cdesearch"])
def test_an_update_runs_the_command_and_no_code_of_the_working_directory(tmp_path, monkeypatch, imported):
    assert update_command(FOLDER)[1:] == ["-P", "-m", "cdesearch", "index", "--index", str(FOLDER)]
    docs = write_files(tmp_path / "docs", {f"{imported}/__init__.py": "open('executed', 'w')"})
    monkeypatch.chdir(docs)
    runs = UpdateRuns()
    assert runs.start(docs / ".cdesearch")
    wait_until(lambda: runs.latest(docs / ".cdesearch").ended is not None)
    runs.close()
    assert not (docs / "executed").exists()
    assert "error: There is no index in" in " ".join(runs.latest(docs / ".cdesearch").lines)


@contextmanager
def watching(folder):
    with ServedIndexes.open([folder]) as indexes:
        watcher = Watcher(indexes)
        try:
            wait_until(lambda: watcher.processes)
            yield indexes[None], watcher
        finally:
            watcher.close()


def has(served, words):
    served.searcher.refresh()
    return served.index.documents.count_rows(f"title = '{words}'") > 0


@pytest.mark.slow
def test_a_changed_file_is_found_without_a_command(own_pages, capfd):
    with running_server([own_pages], ServeSettings(watch=True)) as server:
        (own_pages / "new.md").write_text("xylophone")
        wait_until(lambda: [hit["path"] for hit in server.json("search", q="xylophone", k=1)["hits"]] == ["new.md"])
        (own_pages / "new.md").unlink()
        wait_until(lambda: server.json("status")["indexes"][0]["documents"] == 6)
    assert "own: Updated: 7 documents" in capfd.readouterr().err


@pytest.mark.slow
def test_a_process_that_was_killed_is_started_again_and_ends_with_the_server(own_pages, monkeypatch):
    monkeypatch.setattr(updates, "RETRY_SECONDS", 0.05)
    with watching(own_pages) as (served, watcher):
        (killed,) = watcher.processes
        killed.kill()
        wait_until(lambda: killed.poll() is not None and watcher.processes != [killed])
        (own_pages / "new.md").write_text("# Xylophone\n\nIt is made of wood.")
        wait_until(lambda: has(served, "Xylophone"))
        (process,) = watcher.processes
    assert process.wait(0.1) is not None


@pytest.mark.slow
def test_the_process_ends_when_a_killed_server_leaves_it_alone(own_pages):
    command = python_module("cdesearch.serve.updates", str(own_pages / ".cdesearch"))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=same_modules(), text=True, **pipes) as process:
        (own_pages / "new.md").write_text("xylophone")
        assert process.stdout.readline().startswith("Updated: 7 documents")
        os.kill(process.pid, signal.SIGINT)  # a terminal sends it to the whole group
        time.sleep(PATIENCE)
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(20) == 0
