"""Two users on one computer: nobody's text reaches the index of somebody else, and nobody reads it unasked."""

import os
import shutil
import stat
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from built import make_index, write_files
from command import cdesearch_several

from cdesearch.errors import IndexUntrustedError
from cdesearch.store.filesystem import lock_of
from cdesearch.store.layout import MARK
from cdesearch.store.trust import check_found, require_own

OWNER, OTHER = 61_001, 61_002  # the numbers of the users
SECRET = "salary negotiation notes"
# The other user may still read everything, such as this Python. So only the checks keep the text out of the index.
AS_OTHER = f"setpriv --reuid={OTHER} --regid={OTHER} --clear-groups".split()
AS_OTHER += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
BELONGS = f"belongs to user {OWNER}"

pytestmark = pytest.mark.skipif(
    os.name == "nt" or os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can act as two users"
)


@pytest.fixture
def shared(tiny_checkpoint):
    """A folder of one user with an index that all may write, and the private folder of another user below it."""
    with tempfile.TemporaryDirectory() as folder:
        shared = write_files(Path(folder) / "x", {"a.md": "the cat of the owner"})
        make_index([shared], model=tiny_checkpoint)
        for path in (Path(folder), shared, *(shared / ".cdesearch").rglob("*"), shared / ".cdesearch"):
            os.chown(path, OWNER, OWNER)
            path.chmod(0o777)
        write_files(shared / "theirs", {"private.md": SECRET})
        (shared / "theirs" / "home").mkdir()
        for path in (shared / "theirs", shared / "theirs" / "private.md", shared / "theirs" / "home"):
            os.chown(path, OTHER, OTHER)
            path.chmod(0o700 if path.is_dir() else 0o600)
        yield shared


def environment(shared):
    home = str(shared / "theirs" / "home")
    names = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "TMPDIR")
    return dict.fromkeys(names, home)


def as_other(shared, *commands):
    return cdesearch_several(*commands, cwd=shared / "theirs", prefix=AS_OTHER, **environment(shared))


def content(index):
    """The files of an index with their content."""
    return {str(path): path.read_bytes() for path in sorted(index.rglob("*")) if path.is_file()}


def test_no_command_uses_an_index_of_another_user_that_it_has_found(shared, tiny_checkpoint):
    before = content(shared / ".cdesearch")
    write_files(shared / "theirs" / "home" / "cdesearch", {"config.toml": "[query]\nupdate = true\n"})
    commands = "query hi|hi --format llm|ask hi|status|status .|eval --questions q|open a.md|index|index --rebuild"
    commands += "|watch|sources|sources add private.md|clear --yes|doctor|doctor --repair|serve --port 0|mcp"
    commands = [*map(str.split, commands.split("|")), ["index", "--refresh-context", "--model", tiny_checkpoint]]
    for arguments, run in zip(commands, as_other(shared, *((arguments, 2) for arguments in commands)), strict=True):
        assert "The nearest index" in run.stderr and BELONGS in run.stderr, (arguments, run.stderr)
    assert content(shared / ".cdesearch") == before


@pytest.mark.slow
def test_a_confirmed_index_of_another_user_is_read_and_never_written(shared, tiny_checkpoint):
    before = content(shared / ".cdesearch")
    named = ["--index", shared, "--model", tiny_checkpoint]
    trusted, *answers = as_other(
        shared,
        (["trust", "--yes"], 0),
        (["query", "cat", "-k", "1", "--all"], 0),
        (["query", "cat", "-k", "2", "--all"], 0),
        (["status", "--json"], 0),
    )
    assert f"owner   user {OWNER}" in trusted.stdout
    assert all("cat" in run.stdout or "documents" in run.stdout for run in answers)
    commands = "watch private.md|sources add private.md|clear --yes|doctor --repair|serve --watch --port 0"
    commands = [[*command.split(), "--index", shared] for command in commands.split("|")]
    commands += [["index", "private.md", *named], ["index", *named], ["index", "--rebuild", *named], ["index"]]
    for arguments, run in zip(commands, as_other(shared, *((arguments, 2) for arguments in commands)), strict=True):
        assert BELONGS in run.stderr and "only its owner can change it" in run.stderr, (arguments, run.stderr)
    assert content(shared / ".cdesearch") == before


def test_under_sudo_the_index_of_its_caller_is_read_and_not_written(tmp_path, monkeypatch):
    os.chown(tmp_path, OWNER, OWNER)
    monkeypatch.setenv("SUDO_UID", str(OWNER))
    check_found(tmp_path)
    with pytest.raises(IndexUntrustedError, match="without sudo"):
        require_own(tmp_path)


def test_a_folder_that_its_owner_replaces_before_it_is_locked_gets_no_text(tmp_path, tiny_checkpoint):
    docs = write_files(tmp_path / "docs", {"private.md": SECRET})
    index = docs / ".cdesearch"
    make_index([docs], model=tiny_checkpoint)
    (docs / "more.md").write_text(SECRET)
    with ThreadPoolExecutor() as threads:
        with lock_of(index / "lock", wait=True):
            updated = threads.submit(make_index, [docs], model=tiny_checkpoint, wait=True)
            time.sleep(1)  # the update waits for the lock
            index.rename(tmp_path / "taken")
            (index / "generations").mkdir(parents=True)
            (index / "INDEX").write_text(MARK)
            os.chown(index, OWNER, OWNER)
        with pytest.raises(IndexUntrustedError, match=BELONGS):
            updated.result()
    assert SECRET.encode() not in b"".join(content(index).values())


def modes(index):
    """The different modes of the folders and of the files of an index, without the lock, which nobody else needs."""
    paths = [index, *(path for path in index.rglob("*") if not path.name.startswith("lock"))]
    folders, files = (
        {stat.S_IMODE(one.stat().st_mode) for one in paths if one.is_dir() is kind} for kind in (True, False)
    )
    return folders, files


@pytest.mark.parametrize("is_named", [False, True])
def test_a_new_index_is_private_and_later_generations_follow_its_folder(tmp_path, tiny_checkpoint, is_named):
    docs = write_files(tmp_path / "docs", {"a.md": "the cat"})
    index = tmp_path / "index" if is_named else docs / ".cdesearch"
    if is_named:
        index.mkdir()
    options = {"model": tiny_checkpoint, "index": index if is_named else None}
    make_index([docs], **options)
    assert modes(index) == ({0o700}, {0o600})
    index.chmod(0o750)
    (docs / "b.md").write_text("the dog")
    make_index([docs], **options)
    live = index / "generations" / (index / "CURRENT").read_text().strip()
    assert modes(live) == ({0o750}, {0o640})
    for name, mode in (("CURRENT", 0o640), ("INDEX", 0o640), ("generations", 0o750)):
        assert stat.S_IMODE((index / name).stat().st_mode) == mode
