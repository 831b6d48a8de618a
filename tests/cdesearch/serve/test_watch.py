import sys
import time
from contextlib import contextmanager

import pytest
from running_server import running_server, wait_until
from served_pages import damage, update

from cdesearch.serve import watch
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.settings import ServeSettings
from cdesearch.serve.update_runs import UpdateRuns
from cdesearch.serve.watch import Watcher

PATIENCE = 1.0  # seconds, several times as long as a watcher needs to report a change


@pytest.fixture(autouse=True)
def _hurried(monkeypatch):
    monkeypatch.setattr(watch, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(watch, "REST_SECONDS", 0.1)


class Recorded:
    """Updates that run a program which records that it ran, instead of the real one."""

    def __init__(self, folder, code):
        self.file = folder / "runs.txt"
        self.updates = UpdateRuns(lambda _: [sys.executable, "-c", f"open({str(self.file)!r}, 'a').write('x'); {code}"])

    @property
    def n_runs(self):
        return len(self.file.read_text()) if self.file.exists() else 0


@contextmanager
def watching(folders, updates):
    with ServedIndexes.open(folders) as indexes:
        watcher = Watcher(indexes, updates)
        yield indexes
        watcher.close()
        updates.close()


@pytest.mark.slow
def test_a_changed_file_is_found_without_a_command(own_pages):
    with running_server([own_pages], ServeSettings(watch=True)) as server:
        (own_pages / "new.md").write_text("xylophone")
        wait_until(lambda: [hit["path"] for hit in server.json("search", q="xylophone", k=1)["hits"]] == ["new.md"])
        (own_pages / "new.md").unlink()
        wait_until(lambda: server.json("status")["indexes"][0]["documents"] == 6)


@pytest.mark.slow
def test_nothing_runs_while_nothing_changes(own_pages, tmp_path):
    recorded = Recorded(tmp_path, "")
    with watching([own_pages], recorded.updates):
        time.sleep(PATIENCE)
    assert recorded.n_runs == 0


@pytest.mark.slow
def test_an_update_that_helps_nothing_is_repeated_only_after_another_change(own_pages, tmp_path):
    recorded = Recorded(tmp_path, "")
    with watching([own_pages], recorded.updates):
        time.sleep(PATIENCE)
        (own_pages / "new.md").write_text("xylophone")
        wait_until(lambda: recorded.n_runs == 1)
        time.sleep(PATIENCE)
        assert recorded.n_runs == 1
        (own_pages / "new.md").write_text("another xylophone")
        wait_until(lambda: recorded.n_runs == 2)


@pytest.mark.parametrize(("retry", "repeated"), [(3600.0, False), (0.05, True)])
def test_an_update_that_failed_is_tried_again_later(own_pages, tmp_path, monkeypatch, retry, repeated):
    monkeypatch.setattr(watch, "RETRY_SECONDS", retry)
    recorded = Recorded(tmp_path, "raise SystemExit(2)")
    (own_pages / "new.md").write_text("xylophone")
    with watching([own_pages], recorded.updates):
        wait_until(lambda: recorded.n_runs >= 1)
        time.sleep(PATIENCE)
        assert (recorded.n_runs > 1) == repeated


@pytest.mark.slow
def test_an_index_whose_newest_generation_is_damaged_is_left_alone(own_pages, tiny_checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr("cdesearch.serve.indexes.REFRESH_SECONDS", 3600)  # it must not see the sound generation
    recorded = Recorded(tmp_path, "")
    with ServedIndexes.open([own_pages]) as indexes:
        update(own_pages, tiny_checkpoint, 1)
        damage(own_pages)
        assert not indexes[None].refresh()
        (own_pages / "new.md").write_text("xylophone")
        watcher = Watcher(indexes, recorded.updates)
        time.sleep(PATIENCE)
        watcher.close()
    assert recorded.n_runs == 0


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
