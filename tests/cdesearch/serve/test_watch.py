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

PATIENCE = 0.5  # seconds in which a watcher checks the files many times


@pytest.fixture(autouse=True)
def _hurried(monkeypatch):
    monkeypatch.setattr(watch, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(watch, "CHECK_SHARE", 1.0)
    monkeypatch.setattr(watch, "REST_SECONDS", 0.02)


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


def test_no_update_runs_while_no_file_changes(own_pages, tmp_path):
    recorded = Recorded(tmp_path, "")
    with watching([own_pages], recorded.updates):
        time.sleep(PATIENCE)
    assert recorded.n_runs == 0


@pytest.mark.parametrize("code", ["", "raise SystemExit(2)"])
def test_an_update_that_changes_nothing_is_not_repeated_at_once(own_pages, tmp_path, code, monkeypatch):
    recorded = Recorded(tmp_path, code)
    with watching([own_pages], recorded.updates):
        (own_pages / "new.md").write_text("xylophone")
        wait_until(lambda: recorded.n_runs == 1)
        time.sleep(PATIENCE)
        assert recorded.n_runs == 1
        monkeypatch.setattr(watch, "RETRY_SECONDS", 0)
        wait_until(lambda: recorded.n_runs > 1)


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
