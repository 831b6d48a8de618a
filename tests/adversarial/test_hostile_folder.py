"""Folders with pipes, devices, loops, unreadable entries and confusing names."""

import json
import os
import shutil
import socket
from pathlib import Path

import pytest
from built import make_index, write_files
from command import cdesearch_process

from cdesearch.builders import UnreadFile
from cdesearch.store.index import Index
from cdesearch.store.opening import _open_below, _open_then_check
from indexer import plan as planning
from indexer.files.walk import Selection, find_sources

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX file system")


def outcomes_of(root, *paths):
    items = find_sources(list(paths) or [root], root, Selection(10**7))
    return {item.path: item.reason if isinstance(item, UnreadFile) else getattr(item, "rule", None) for item in items}


def texts(index):
    return sorted(chunk["text"].split("\n")[-1] for chunk in Index.open(index).chunks.to_arrow().to_pylist())


@pytest.fixture
def special(tmp_path):
    """A folder with one document and one entry of each kind that is not a regular file."""
    folder = write_files(tmp_path / "special", {"a.md": "the cat"})
    os.mkfifo(folder / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket.md"))
    (folder / "zero.md").symlink_to("/dev/zero")
    (folder / "nowhere.md").symlink_to(folder / "missing.md")
    (folder / "loop.md").symlink_to(folder / "loop.md")
    (folder / "around").symlink_to(folder)
    os.mkfifo(folder / "pipe without suffix")
    return folder


def test_entries_that_are_not_regular_files_are_skipped_never_opened_and_accounted_for(special, tiny_checkpoint):
    assert outcomes_of(special) == {
        "a.md": None,
        "around": "link to a folder",
        "loop.md": "a link whose target does not exist",
        "nowhere.md": "a link whose target does not exist",
        "pipe without suffix": "not a regular file",
        "pipe.md": "not a regular file",
        "socket.md": "not a regular file",
        "zero.md": "link out of the tree",
    }
    for name in ("pipe.md", "socket.md", "zero.md", "/dev/zero"):  # also if the user names them
        assert list(outcomes_of(special, special / name).values()) == ["not a regular file"]
    report = make_index([special], model=tiny_checkpoint)
    assert report.n_files == {"indexed": 1, "ignored": 2, "skipped": 5}  # the index itself is not counted


@pytest.fixture
def change_after_the_walk(monkeypatch):
    """Calls a function between the walk of a build and the reading of its files."""

    def set_change(change):
        def find_then_change(*arguments, **options):
            items = list(find_sources(*arguments, **options))
            change()
            return items

        monkeypatch.setattr(planning, "find_sources", find_then_change)

    return set_change


def test_links_that_replace_a_file_or_a_folder_after_the_walk_are_not_followed(
    tmp_path, tiny_checkpoint, change_after_the_walk
):
    outside, docs = tmp_path / "outside", tmp_path / "docs"
    write_files(docs, dict.fromkeys(["a.md", "b.md", "c.md", "pipe.md", "d/deeper/e.md"], "the cat"))
    write_files(tmp_path, dict.fromkeys(["outside/e.md", "docs/.hidden/h.md"], "the secret"))

    def swap():
        for name, target in [("b.md", outside / "e.md"), ("c.md", ".hidden/h.md")]:
            (docs / name).unlink()
            (docs / name).symlink_to(target)
        (docs / "pipe.md").unlink()
        os.mkfifo(docs / "pipe.md")
        shutil.rmtree(docs / "d" / "deeper")
        (docs / "d" / "deeper").symlink_to(outside)

    change_after_the_walk(swap)
    report = make_index([docs], model=tiny_checkpoint)
    linked = dict.fromkeys(["b.md", "c.md", "d/deeper/e.md"], "could not be read: a link, or a file behind one")
    reasons = {item.path: item.reason for item in report.skipped}
    assert reasons == linked | {"pipe.md": "could not be read: not a regular file"}
    assert texts(docs) == ["the cat"]


@pytest.mark.parametrize("opened", [_open_below, _open_then_check])
def test_both_ways_of_opening_refuse_links_only_below_the_top(tmp_path, opened):
    top = tmp_path / "above"  # a link itself
    write_files(tmp_path / "top" / "d", {"a.md": "the cat"})
    (tmp_path / "top" / "link.md").symlink_to("d/a.md")
    (tmp_path / "top" / "linked").symlink_to("d")
    top.symlink_to("top")
    with os.fdopen(opened(top / "d" / "a.md", top)) as file:
        assert file.read() == "the cat"
    for name in ("link.md", "linked/a.md"):
        with pytest.raises(OSError, match="a link, or a file behind one"):
            opened(top / name, top)


@pytest.fixture
def locked(tmp_path):
    """A folder with a sub-folder and a file that may not be read."""
    texts = {"shut/b.md": "the dog", "a.md": "the cat", "secret.md": "the moon"}
    folder = write_files(tmp_path / "docs", texts)
    (folder / "secret.md").chmod(0)
    (folder.parent / ".git").symlink_to(folder / "shut" / "b.md")  # which cannot be examined
    (folder / "shut").chmod(0)
    yield folder
    (folder / "shut").chmod(0o755)


@pytest.mark.slow
def test_each_entry_without_permission_is_one_skipped_entry(locked, as_owner, tiny_checkpoint):
    def run(*arguments, code=0):
        return cdesearch_process(*arguments, cwd=locked.parent, code=code, prefix=as_owner)

    named = run("index", locked / "shut" / "b.md", code=2)
    assert "permission denied" in named.stderr
    done = run("index", locked, "--model", tiny_checkpoint, "--json")
    assert json.loads(done.stdout)["skipped"] == [
        {"path": "secret.md", "reason": "could not be read: permission denied"},
        {"path": "shut/", "reason": "permission denied"},
    ]
    facts = json.loads(run("status", "--index", locked / ".cdesearch", "--json").stdout)
    assert (facts["new_files"], facts["modified_files"], facts["skipped_files"]) == (0, 0, 2)
    run("index", locked, "--strict", code=3)
    (locked / "secret.md").chmod(0o644)
    (locked / "shut").chmod(0o755)
    assert json.loads(run("index", locked, "--json").stdout)["documents"] == 3


NAMES = [b"new\nline.md", b"esc\x1b]0;title\x07.md", b"inv\xffalid.md", b"bell\x07.djvu", b"rtl\xe2\x80\xae.md"]


@pytest.mark.slow
def test_odd_names_are_printed_safely_everywhere(tmp_path, tiny_checkpoint):
    for name in NAMES:
        text = "the cat\0" if name.endswith(b".djvu") else "the cat"  # a text would be read in spite of its suffix
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text(text)
    made = cdesearch_process("index", tmp_path, "--model", tiny_checkpoint, cwd=tmp_path)
    status = cdesearch_process("status", "--files", cwd=tmp_path)
    printed = made.stdout + made.stderr + status.stdout + status.stderr
    assert not set(printed) & {"\x1b", "\x07", "\u202e"} and "\udcff" not in printed
    listed = status.stdout.splitlines()
    assert r"indexed  new\x0aline.md" in listed and r"indexed  inv\xffalid.md" in listed
    assert r"skipped  bell\x07.djvu  (unknown format .djvu)" in listed
