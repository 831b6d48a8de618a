"""What the system refuses to read, write or lock: one line with the reason, and nothing is removed, nor advised so."""

import errno
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest
from command import cdesearch, picture
from process import needs_strace

from cdesearch.cli.exits import report
from cdesearch.errors import CdesearchError, IndexUnreadableError
from cdesearch.progress import Silent
from cdesearch.store.checksums import read_checksums
from cdesearch.store.damage import find_damage
from cdesearch.store.file_account import read_files
from cdesearch.store.filesystem import refusal_of
from cdesearch.store.folder import begun_generations, check_marker, current_name, finished_generations, mark_of
from cdesearch.store.guard import check_tables
from cdesearch.store.manifest import Manifest
from cdesearch.store.storage import connect, current_generation
from cdesearch.store.trust import TrustRequest, confirm, trust_file
from indexer.build import build
from indexer.generations.generation import open_building, swap_in
from indexer.generations.lock import remove_index
from indexer.health.doctor import diagnose
from indexer.health.repair import repair
from indexer.settings import Options
from indexer.workers.process import Worker

DESTROYING = re.compile(r"rebuild|repair|remove the|delete|install|again with", re.IGNORECASE)


@contextmanager
def no_descriptors():
    """Let this process open no more files."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture
def index(docs, tiny_checkpoint):
    build([docs], Options(model=tiny_checkpoint), Silent())
    return docs / ".cdesearch"


def generation_of(index):
    return index / "generations" / (index / "CURRENT").read_text().strip()


NAMES = {}  # by index: the live generation, which cannot be read without descriptors


def live_of(index):
    return index / "generations" / NAMES[index]


READERS = {
    "the marker": mark_of,
    "the check of the marker": check_marker,
    "CURRENT": current_name,
    "the live generation": current_generation,
    "finished generations": finished_generations,
    "begun generations": begun_generations,
    "a generation to build": lambda index: open_building(index, None, {"files": 3}),
    "a generation to swap in": lambda index: swap_in(index, live_of(index)),
    "checksums": lambda index: read_checksums(live_of(index)),
    "the list of files": lambda index: list(read_files(live_of(index))),
    "the manifest": lambda index: Manifest.load(live_of(index) / "manifest.json"),
    "the manifests of tables": lambda index: check_tables(live_of(index)),
    "doctor": diagnose,
    "repair": lambda index: repair(index, False, Silent(), print),
    "clear": remove_index,
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
def test_without_descriptors_nothing_is_taken_for_damage_and_nothing_changes(index, read):
    NAMES[index] = generation_of(index).name
    connect(generation_of(index))  # so that LanceDB is imported
    before = picture(index)
    with no_descriptors(), pytest.raises(IndexUnreadableError) as raised:
        read(index)
    assert "(too many open files)" in raised.value.cause and "ulimit -n" in raised.value.remedy
    assert not DESTROYING.search(str(raised.value)) and picture(index) == before
    assert diagnose(index).is_sound


def test_without_descriptors_a_hash_or_a_worker_is_not_reported_as_damage(index):
    generation = generation_of(index)
    checksums = read_checksums(generation)
    with no_descriptors(), pytest.raises(IndexUnreadableError, match="too many open files"):
        list(find_damage(generation, checksums, lambda *_: True, is_complete=True))
    with no_descriptors(), pytest.raises(CdesearchError, match=r"cannot start \(Too many open files\)") as raised:
        Worker()
    assert "ulimit -n" in raised.value.remedy


def test_confirmations_that_cannot_be_read_now_are_not_replaced(index, tmp_path):
    confirm(index, TrustRequest("one"))
    before = trust_file().read_text()
    with no_descriptors(), pytest.raises(CdesearchError, match="too many open files"):
        confirm(tmp_path, TrustRequest("two"))
    assert trust_file().read_text() == before


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (OSError(errno.EIO, "x"), errno.EIO),
        (PermissionError(errno.EACCES, "x"), errno.EACCES),
        (RuntimeError("lance error: LanceError(IO): Too many open files (os error 24)"), 24),
        (OSError("[Errno 24] Failed to open local file 'x'"), 24),
        (RuntimeError('Failed to build tokio runtime: Os { code: 24, kind: Uncategorized, message: "x" }'), 24),
        (FileNotFoundError(errno.ENOENT, "x"), None),
        (OSError("Not found (os error 2)"), None),
        (OSError(errno.ENOSPC, "x"), None),
        (ValueError("24"), None),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="Windows numbers errors otherwise")
def test_a_refusal_is_recognised_by_its_number_also_in_the_text_of_a_library(error, number, capsys):
    assert refusal_of(error) == number
    if number in (errno.EIO, errno.EMFILE):
        assert report(error) == 2
        assert re.search(r"A file cannot be read or written \(.*\)\. ", capsys.readouterr().err)


def refused(call, error, path, *arguments, cwd):
    """What a command prints on stderr while the system call fails for the path."""
    inject = ["-P", str(path), "-e", f"trace={call}", "-e", f"inject={call}:error={error}"]
    command = ["strace", "-f", "-o", os.devnull, *inject, sys.executable, "-m", "cdesearch", *arguments]
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=300)
    line = run.stderr.splitlines()[-1]
    assert run.returncode == 2 and line.startswith("error: ") and "Traceback" not in run.stderr, run.stderr
    assert not DESTROYING.search(line) and "Another run" not in line, line
    assert os.strerror(getattr(errno, error)).lower() in line
    return line


@needs_strace
@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "error", "name", "command"),
    [
        ("openat", "EIO", "INDEX", ["query", "moon", "--mode", "text"]),
        ("openat", "ESTALE", "INDEX", ["status"]),
        ("openat", "EMFILE", "INDEX", ["doctor", "--repair"]),
        ("openat", "ENOMEM", "INDEX", ["clear", "--yes"]),
        ("read", "EIO", "INDEX", ["index", "."]),
        ("openat", "EIO", "CURRENT", ["status"]),
        ("openat", "ESTALE", "CURRENT", ["index", ".", "--rebuild"]),
        ("openat", "EMFILE", "CURRENT", ["doctor"]),
        ("read", "EIO", "CURRENT", ["doctor", "--repair"]),
        ("openat", "ENOMEM", "CURRENT", ["query", "moon", "--mode", "text"]),
        ("openat", "EIO", "{live}/manifest.json", ["status"]),
        ("openat", "EIO", "{live}/checksums.json", ["doctor", "--repair"]),
        ("openat", "EIO", "{live}/files.jsonl", ["doctor"]),
        ("openat", "ESTALE", "{live}/context.safetensors", ["doctor", "--repair"]),
        ("openat", "EIO", "{live}/tables/documents.lance/data/{data}", ["doctor"]),
        ("openat", "EIO", "generations/aaaaaaaaaaaa/plan.json", ["index", "."]),
    ],
)
def test_a_file_that_cannot_be_read_now_is_named_with_the_reason(index, call, error, name, command):
    planted = index / "generations" / ("a" * 12)  # an unfinished build, whose vectors took hours
    planted.mkdir()
    (planted / "plan.json").write_text("{}")
    live = generation_of(index)
    (data,) = (live / "tables" / "documents.lance" / "data").iterdir()
    file = index / name.format(live=f"generations/{live.name}", data=data.name)
    (index.parent / "new.md").write_text("the moon is new")
    (index / "lock.holder").unlink()
    before = picture(index)
    line = refused(call, error, file, *command, cwd=index.parent)
    assert f"error: {file} cannot be read (" in line
    (index / "lock.holder").unlink(missing_ok=True)
    assert picture(index) == before


@needs_strace
@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "error", "name", "cause"),
    [
        ("flock", "ENOSYS", "lock", "cannot be locked"),
        ("flock", "ENOLCK", "lock", "cannot be locked"),
        ("flock", "EOPNOTSUPP", "lock", "cannot be locked"),
        ("rename", "EXDEV", "CURRENT.new", "cannot be written"),
        ("rename", "EBUSY", "CURRENT.new", "cannot be written"),
        ("fsync", "EIO", "CURRENT.new", "cannot be read or written"),
    ],
)
def test_a_lock_or_a_file_that_the_system_refuses_keeps_the_index(index, call, error, name, cause):
    (index.parent / "new.md").write_text("the moon is new")
    live = generation_of(index)
    assert cause in refused(call, error, index / name, "index", ".", cwd=index.parent)
    assert generation_of(index) == live and diagnose(index).is_sound
    cdesearch("index", ".", cwd=index.parent)
    assert generation_of(index) != live and diagnose(index).is_sound


@pytest.mark.slow
def test_a_file_at_which_another_is_mounted_cannot_be_replaced_and_is_named(index):
    """So containers get single files; a rename over a mount point fails with EBUSY."""
    bind = ["mount", "--bind", index / "CURRENT", index / "CURRENT"]
    if shutil.which("mount") is None or subprocess.run(bind, check=False).returncode:
        pytest.skip("no file can be mounted here")
    try:
        (index.parent / "new.md").write_text("the moon is new")
        line = cdesearch("index", ".", cwd=index.parent, code=2).stderr.splitlines()[-1]
    finally:
        subprocess.run(["umount", index / "CURRENT"], check=True)
    assert line.startswith(f"error: {index} cannot be written (device or resource busy). ")
    assert diagnose(index).is_sound
