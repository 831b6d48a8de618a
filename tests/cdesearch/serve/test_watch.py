import os
import signal
import subprocess
import time
from contextlib import contextmanager

import pytest
from running_server import running_server, wait_until
from served_pages import damage, update

from cdesearch.child_process import python_module, same_modules
from cdesearch.serve import watch
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.settings import ServeSettings
from cdesearch.serve.watch import Watcher

PATIENCE = 1.0  # seconds, several times as long as a watcher needs to report a change


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
    served.refresh()
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
def test_a_process_that_was_killed_is_started_again(own_pages, monkeypatch):
    monkeypatch.setattr(watch, "RETRY_SECONDS", 0.05)
    with watching(own_pages) as (served, watcher):
        (killed,) = watcher.processes
        killed.kill()
        wait_until(lambda: killed.poll() is not None and watcher.processes != [killed])
        (own_pages / "new.md").write_text("# Xylophone\n\nIt is made of wood.")
        wait_until(lambda: has(served, "Xylophone"))


@pytest.mark.slow
def test_all_processes_end_with_the_server(own_pages):
    with watching(own_pages) as (_, watcher):
        (process,) = watcher.processes
    assert process.wait(0.1) is not None


@pytest.mark.slow
def test_the_process_ends_when_a_killed_server_leaves_it_alone(own_pages):
    command = python_module("cdesearch.serve.watch_process", str(own_pages / ".cdesearch"), "advise")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=same_modules(), text=True, **pipes) as process:
        (own_pages / "new.md").write_text("xylophone")
        assert process.stdout.readline().startswith("Updated: 7 documents")
        os.kill(process.pid, signal.SIGINT)  # a terminal sends it to the whole group
        time.sleep(PATIENCE)
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(20) == 0


@pytest.mark.slow
def test_an_index_that_cannot_be_updated_is_reported_once(own_pages, tiny_checkpoint, monkeypatch, capfd):
    monkeypatch.setattr(watch, "RETRY_SECONDS", 0.05)
    with ServedIndexes.open([own_pages]) as indexes:
        update(own_pages, tiny_checkpoint, 1)
        damage(own_pages)
        watcher = Watcher(indexes)
        shown = ""

        def is_shown():
            nonlocal shown
            shown += capfd.readouterr().err
            return "doctor" in shown

        wait_until(is_shown)
        time.sleep(3 * PATIENCE)
        watcher.close()
    assert (shown + capfd.readouterr().err).count("doctor") == 1


@pytest.mark.slow
@pytest.mark.parametrize("refreshes", [True, False])
def test_a_context_that_no_longer_fits_is_renewed_if_the_server_may(own_pages, refreshes):
    with running_server([own_pages], ServeSettings(watch=True, refreshes=refreshes)) as server:
        before = server.json("status")["indexes"][0]
        more = own_pages.parent / "more"
        more.mkdir()
        for number in range(6 * before["chunks"]):
            (more / f"{number}.md").write_text(f"engine {number} and stone")
        more.rename(own_pages / "more")
        wait_until(lambda: server.json("status")["indexes"][0]["documents"] > before["documents"])
        if refreshes:
            wait_until(lambda: _context(server) != before["context_fingerprint"])
        else:
            time.sleep(3 * PATIENCE)
            assert _context(server) == before["context_fingerprint"]


def _context(server):
    return server.json("status")["indexes"][0]["context_fingerprint"]
