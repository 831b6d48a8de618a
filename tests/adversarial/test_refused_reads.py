"""What the system refuses to read, write or lock: one line with the reason, and nothing is removed, nor advised so."""

import errno
import os
import re

import pytest
from built import make_index, write_files
from command import cdesearch, cdesearch_process, needs_strace, picture

from cdesearch.errors import CdesearchError
from cdesearch.store.storage import current_generation
from cdesearch.store.trust import TrustRequest, confirm, trust_file
from indexer.health.doctor import diagnose
from indexer.workers.process import Worker

DESTROYING = re.compile(r"rebuild|repair|remove the|delete|install|again with", re.IGNORECASE)
ASK_OWNER = "Correct its permissions, or ask its owner for access."


@pytest.fixture
def index(docs, tiny_checkpoint):
    make_index([docs], model=tiny_checkpoint)
    return docs / ".cdesearch"


def test_without_descriptors_no_worker_starts_and_confirmations_are_kept(tmp_path):
    resource = pytest.importorskip("resource")
    confirm(tmp_path / "one", TrustRequest("one"))
    before, limits = trust_file().read_text(), resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        with pytest.raises(CdesearchError, match=r"cannot start \(Too many open files\).*ulimit -n"):
            Worker()
        with pytest.raises(CdesearchError, match="too many open files"):
            confirm(tmp_path, TrustRequest("two"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert trust_file().read_text() == before


# System calls that fail.


def refused(call, error, path, *arguments, cwd):
    """What a command prints on stderr while the system call fails for the path."""
    inject = ["-P", str(path), "-e", f"trace={call}", "-e", f"inject={call}:error={error}"]
    prefix = ["strace", "-f", "-o", os.devnull, *inject]
    line = cdesearch_process(*arguments, cwd=cwd, code=2, prefix=prefix).stderr.splitlines()[-1]
    assert not DESTROYING.search(line) and "Another run" not in line, line
    assert os.strerror(getattr(errno, error)).lower() in line
    return line


@needs_strace
@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "error", "name", "command"),
    [
        ("openat", "EIO", "INDEX", ["query", "moon", "--mode", "text"]),
        ("read", "EIO", "INDEX", ["index", "."]),
        ("openat", "EIO", "CURRENT", ["status"]),
        ("openat", "ESTALE", "CURRENT", ["index", ".", "--rebuild"]),
        ("openat", "EIO", "{live}/manifest.json", ["status"]),
        ("openat", "EIO", "{live}/checksums.json", ["doctor", "--repair"]),
        ("openat", "ESTALE", "{live}/context.safetensors", ["doctor", "--repair"]),
        ("openat", "EIO", "{live}/tables/documents.lance/data/{data}", ["doctor"]),
        ("openat", "EIO", "generations/aaaaaaaaaaaa/plan.json", ["index", "."]),
    ],
)
def test_a_file_that_cannot_be_read_now_is_named_with_the_reason(index, call, error, name, command):
    planted = index / "generations" / ("a" * 12)  # an unfinished build, whose vectors took hours
    write_files(planted, {"plan.json": "{}"})
    live = current_generation(index)
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
        ("flock", "ENOLCK", "lock", "cannot be locked"),
        ("rename", "EXDEV", "CURRENT.new", "cannot be written"),
        ("rename", "EBUSY", "CURRENT.new", "cannot be written"),  # a mount point, as for single files in containers
        ("fsync", "EIO", "CURRENT.new", "cannot be read or written"),
    ],
)
def test_a_lock_or_a_file_that_the_system_refuses_keeps_the_index(index, call, error, name, cause):
    (index.parent / "new.md").write_text("the moon is new")
    live = current_generation(index)
    assert cause in refused(call, error, index / name, "index", ".", cwd=index.parent)
    assert current_generation(index) == live and diagnose(index).is_sound
    cdesearch("index", ".", cwd=index.parent)
    assert current_generation(index) != live and diagnose(index).is_sound


# Permissions, also for root.


def cannot_be_read(folder):
    return f"error: {folder} cannot be read (permission denied). {ASK_OWNER}\n"


@pytest.mark.slow
@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize(
    ("name", "command"),
    [
        *((".", command) for command in ("query moon", "status .", "doctor", "index .", "sources", "clear --yes")),
        *(("generations", command) for command in ("query moon", "status .", "doctor", "index .", "clear --yes")),
        *((name, "status .") for name in ("CURRENT", "INDEX", "{live}/manifest.json", "{live}/checksums.json")),
    ],
)
def test_a_part_of_an_index_without_permission_is_named_with_the_remedy(index, as_owner, name, command, is_named):
    live = current_generation(index)
    closed = index / name.format(live=f"generations/{live.name}")
    before, mode = picture(index), closed.stat().st_mode
    arguments = [*command.removesuffix(" .").split(), "--index", ".cdesearch"] if is_named else command.split()
    closed.chmod(0)
    made = cdesearch_process(*arguments, cwd=index.parent, code=2, prefix=as_owner)
    closed.chmod(mode)
    named = [closed, closed / "INDEX", live] if closed.is_dir() else [closed]
    assert made.stderr in map(cannot_be_read, named) and picture(index) == before


@pytest.mark.slow
@pytest.mark.parametrize("command", [["index"], ["watch"], ["sources", "add"]])
@pytest.mark.parametrize("mode", [0o000, 0o300, 0o400])
def test_a_named_folder_that_cannot_be_read_is_named_with_the_remedy(docs, index, as_owner, command, mode):
    shut = docs / "shut"
    shut.mkdir()
    shut.chmod(mode)
    made = cdesearch_process(*command, shut, "--index", ".cdesearch", cwd=docs, code=2, prefix=as_owner)
    shut.chmod(0o700)
    assert made.stderr == cannot_be_read(shut)


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_reported_and_unchanged(docs, as_owner):
    before = picture(docs)
    docs.chmod(0o500)
    made = cdesearch_process("index", ".", cwd=docs, code=2, prefix=as_owner)
    docs.chmod(0o700)
    assert made.stderr.startswith(f"error: {docs / '.cdesearch'} cannot be written. Name another folder: --index DIR, ")
    assert picture(docs) == before
