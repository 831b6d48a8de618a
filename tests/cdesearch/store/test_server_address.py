import os
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from cdesearch.errors import StorageError
from cdesearch.store.server_address import (
    ServerRecord,
    is_private,
    make_runtime_folder,
    read_record,
    record_of,
    remove_record,
    runtime_folder,
    write_record,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither owners nor modes of files")
SECOND = ServerRecord(pid=7, version="2", name="x", address="http://x/", socket="/run/x.sock", token="secret")
RECORD = ServerRecord(pid=os.getpid(), version="1.2", name="notes", address="http://127.0.0.1:7878/")


@pytest.fixture
def runtime(short_folder, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short_folder))
    return short_folder / "cdesearch"


@pytest.fixture
def short_folder():
    """A folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        yield Path(name).resolve()


@pytest.mark.parametrize("configured", ["", "relative", "/does/not/exist"])
def test_without_a_usable_runtime_folder_the_temporary_folder_is_used(short_folder, monkeypatch, configured):
    monkeypatch.setenv("XDG_RUNTIME_DIR", configured)
    monkeypatch.setenv("TMPDIR", str(short_folder))
    assert runtime_folder() == short_folder / f"cdesearch-{os.getuid()}"


def test_the_runtime_folder_is_made_so_that_only_its_user_can_enter_it(runtime):
    previous = os.umask(0)
    try:
        assert make_runtime_folder() == runtime
    finally:
        os.umask(previous)
    assert stat.S_IMODE(runtime.stat().st_mode) == 0o700
    assert make_runtime_folder() == runtime


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o770, 0o777, 0o740])
def test_a_folder_that_others_can_enter_is_refused(runtime, mode):
    write_record(runtime, RECORD)
    runtime.chmod(mode)
    assert not is_private(runtime)
    assert read_record(runtime) is None
    with pytest.raises(StorageError, match="only you can enter"):
        make_runtime_folder()


def test_a_record_is_read_as_it_was_written_until_it_is_removed(runtime, tmp_path):
    assert read_record(tmp_path) is None
    write_record(tmp_path, RECORD)
    assert read_record(tmp_path) == RECORD
    write_record(tmp_path, SECOND)
    assert read_record(tmp_path) == SECOND
    remove_record(tmp_path)
    remove_record(tmp_path)
    assert read_record(tmp_path) is None


@pytest.mark.parametrize("text", ["", "[" * 100_000, '{"pid": -1, "version": "1", "name": "x", "address": "x"}'])
def test_a_record_that_is_no_record_is_that_of_no_server(runtime, tmp_path, text):
    make_runtime_folder()
    record_of(tmp_path).write_text(text)
    assert read_record(tmp_path) is None
