"""Which changes of a real file system start an update."""

import os
import shutil
import sys
import threading
import time
from pathlib import Path

import pytest
from built import write_files

from cdesearch.store.manifest import Globs
from indexer.live import watched as module
from indexer.live.watched import Watched


@pytest.fixture
def docs(tmp_path):
    return write_files(tmp_path / "docs", {"a.md": "the cat", ".gitignore": "*.log\n"})


class Waiting:
    """Calls `wait` in a thread again and again, and keeps what each report says to have changed."""

    def __init__(self, watched):
        self.reports = 0
        self._watched = watched
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while self._watched.wait(self._stop):
            self.reports += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def expect(self, reports, seconds=20):
        deadline = time.monotonic() + seconds
        while self.reports < reports and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.4)
        assert self.reports == reports


@pytest.mark.slow
def test_a_saved_file_is_reported_and_an_ignored_one_is_not(docs):
    with Waiting(Watched([docs])) as waiting:
        (docs / "x.log").write_text("noise")
        (docs / "a.md").read_text()  # no change
        write_files(docs / ".cdesearch", {"CURRENT": "x"})
        waiting.expect(0, seconds=1)
        (docs / "a.md").write_text("the dog")
        waiting.expect(1)


@pytest.mark.slow
def test_a_file_that_is_a_source_itself_may_be_replaced(docs, monkeypatch):
    monkeypatch.setattr(module, "FILE_SECONDS", 0.1)
    with Waiting(Watched([docs / "a.md"])) as waiting:
        (docs / "other.md").write_text("the moon")
        waiting.expect(0, seconds=1)
        (docs / "new").write_text("the dog and the cat")
        (docs / "new").replace(docs / "a.md")
        waiting.expect(1)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_name_that_is_not_utf8_does_not_end_the_watch(docs):
    with Waiting(Watched([docs])) as waiting:
        Path(os.fsdecode(os.fsencode(docs) + b"/\xff.md")).write_text("the moon")
        waiting.expect(1)
        (docs / "a.md").write_text("the dog")
        waiting.expect(2)


@pytest.mark.slow
def test_a_removed_folder_is_reported_although_only_some_files_are_included(docs):
    write_files(docs / "below", {"b.md": "the moon"})
    with Waiting(Watched([docs], Globs(("*.md",), ()))) as waiting:
        shutil.rmtree(docs / "below")
        waiting.expect(1)


def test_all_may_have_changed_after_a_long_time_without_an_event(docs, monkeypatch):
    monkeypatch.setattr(module, "WHOLE_SECONDS", 0.1)
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.05)
    watched = Watched([docs])
    assert watched.wait(threading.Event())


def test_a_network_file_system_is_checked_periodically(docs, monkeypatch):
    monkeypatch.setattr(module, "_is_silent", lambda _: True)
    monkeypatch.setattr(module, "SILENT_SECONDS", 0.1)
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.05)
    watched = Watched([docs])
    assert str(docs) in watched.problem and watched.wait(threading.Event())
