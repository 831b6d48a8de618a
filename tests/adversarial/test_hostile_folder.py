"""Folders with pipes, devices, loops, unreadable entries and confusing names."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import run_here

from cdesearch.errors import CdesearchError
from cdesearch.progress import Silent
from cdesearch.store.index import Index
from indexer.build import build
from indexer.files.opening import _open_below, _open_then_check
from indexer.files.outcome import Ignored, Skipped, Source
from indexer.files.walk import Selection, find_sources
from indexer.settings import Options

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX file system")
NOBODY = 65534


def outcomes_of(root, *paths):
    items = find_sources(list(paths) or [root], root, Selection(10**7))
    return {item.path: item.reason if isinstance(item, Skipped) else getattr(item, "rule", None) for item in items}


def command(*arguments, prefix=(), program=("-m", "cdesearch")):
    """Run the command line within this process, or as a process of its own if it needs a `prefix`."""
    if not prefix:
        return run_here(arguments, ".")
    call = [*prefix, sys.executable, *program, *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, errors="surrogateescape", timeout=120, check=False)


@pytest.fixture
def special(tmp_path):
    """A folder with one document and one entry of each kind that is not a regular file."""
    folder = tmp_path / "special"
    folder.mkdir()
    (folder / "a.md").write_text("the cat")
    os.mkfifo(folder / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket.md"))
    (folder / "zero.md").symlink_to("/dev/zero")
    (folder / "nowhere.md").symlink_to(folder / "missing.md")
    (folder / "loop.md").symlink_to(folder / "loop.md")
    (folder / "around").symlink_to(folder)
    os.mkfifo(folder / "pipe without suffix")
    return folder


def test_entries_that_are_not_regular_files_are_skipped_and_never_opened(special):
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


@pytest.mark.parametrize("name", ["pipe.md", "socket.md", "zero.md", "/dev/zero", "pipe without suffix"])
def test_a_special_file_that_the_user_names_is_skipped_too(special, name):
    (path,) = outcomes_of(special, special / name)
    assert outcomes_of(special, special / name) == {path: "not a regular file"}


def test_a_folder_of_special_files_is_indexed_and_every_one_is_accounted_for(special, tiny_checkpoint):
    report = build([special], Options(model=tiny_checkpoint), Silent())
    assert report.n_documents == 1
    assert report.n_files == {"indexed": 1, "ignored": 2, "skipped": 5}  # the index itself is not counted
    named = build([special, special / "zero.md"], Options(model=tiny_checkpoint, rebuild=True), Silent())
    assert "zero.md" in {item.path for item in named.skipped}


def test_a_file_that_becomes_a_pipe_after_the_walk_is_skipped(tmp_path, tiny_checkpoint, monkeypatch):
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("the cat")
    from indexer import plan as planning

    def find_then_replace(*arguments, **options):
        items = list(find_sources(*arguments, **options))
        (tmp_path / "b.md").unlink()
        os.mkfifo(tmp_path / "b.md")
        return items

    monkeypatch.setattr(planning, "find_sources", find_then_replace)
    report = build([tmp_path], Options(model=tiny_checkpoint), Silent())
    assert [(item.path, item.reason) for item in report.skipped] == [("b.md", "could not be read: not a regular file")]


@pytest.fixture
def change_after_the_walk(monkeypatch):
    """Calls a function between the walk of a build and the reading of its files."""
    from indexer import plan as planning

    def set_change(change):
        def find_then_change(*arguments, **options):
            items = list(find_sources(*arguments, **options))
            change()
            return items

        monkeypatch.setattr(planning, "find_sources", find_then_change)

    return set_change


def contents(index):
    return sorted(chunk["text"].split("\n")[-1] for chunk in Index.open(index).chunks.to_arrow().to_pylist())


def test_links_that_replace_a_file_or_a_folder_after_the_walk_are_not_followed(
    tmp_path, tiny_checkpoint, change_after_the_walk
):
    outside, docs = tmp_path / "outside", tmp_path / "docs"
    for folder in (outside, docs / "d" / "deeper", docs / ".hidden"):
        folder.mkdir(parents=True)
    for name in ("a.md", "b.md", "c.md", "d/deeper/e.md"):
        (docs / name).write_text("the cat")
    for file in (outside / "e.md", docs / ".hidden" / "h.md"):
        file.write_text("the secret")

    def swap():
        for name, target in [("b.md", outside / "e.md"), ("c.md", ".hidden/h.md")]:
            (docs / name).unlink()
            (docs / name).symlink_to(target)
        shutil.rmtree(docs / "d" / "deeper")
        (docs / "d" / "deeper").symlink_to(outside)

    change_after_the_walk(swap)
    report = build([docs], Options(model=tiny_checkpoint), Silent())
    reason = "could not be read: a link, or a file behind one"
    assert {item.path: item.reason for item in report.skipped} == dict.fromkeys(
        ["b.md", "c.md", "d/deeper/e.md"], reason
    )
    assert contents(docs) == ["the cat"]


def test_a_file_that_is_replaced_after_the_walk_is_read_and_read_again_by_the_next_run(
    tmp_path, tiny_checkpoint, change_after_the_walk
):
    (tmp_path / "a.md").write_text("the cat")

    def save_as_editors_do():
        (tmp_path / "a.md.new").write_text("the river")
        (tmp_path / "a.md.new").replace(tmp_path / "a.md")

    change_after_the_walk(save_as_editors_do)
    report = build([tmp_path], Options(model=tiny_checkpoint), Silent())
    assert (report.skipped, contents(tmp_path)) == ((), ["the river"])
    (tmp_path / "a.md").write_text("the stone")
    change_after_the_walk(lambda: None)
    build([tmp_path], Options(), Silent())
    assert contents(tmp_path) == ["the stone"]


def test_a_folder_below_a_link_and_a_link_that_the_user_names_are_read(tmp_path, tiny_checkpoint):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.md").write_text("the cat")
    (tmp_path / "linked").symlink_to("real")
    (tmp_path / "named.md").symlink_to("real/a.md")
    report = build([tmp_path / "linked", tmp_path / "named.md"], Options(model=tiny_checkpoint), Silent())
    assert (report.skipped, report.n_documents) == ((), 2)


@pytest.mark.parametrize("opened", [_open_below, _open_then_check])
def test_both_ways_of_opening_refuse_links_only_below_the_top(tmp_path, opened):
    (tmp_path / "top" / "d").mkdir(parents=True)
    (tmp_path / "top" / "d" / "a.md").write_text("the cat")
    (tmp_path / "top" / "link.md").symlink_to("d/a.md")
    (tmp_path / "top" / "linked").symlink_to("d")
    (tmp_path / "above").symlink_to("top")
    top = tmp_path / "above"
    before = len(list(Path("/dev/fd").iterdir()))
    descriptor = opened(top / "d" / "a.md", top)
    assert os.read(descriptor, 100) == b"the cat"
    os.close(descriptor)
    for name in ("link.md", "linked/a.md"):
        with pytest.raises(OSError, match="a link, or a file behind one"):
            opened(top / name, top)
    with pytest.raises(FileNotFoundError):
        opened(top / "d" / "missing.md", top)
    assert len(list(Path("/dev/fd").iterdir())) == before, "a descriptor was left open"


def without_roots_rights():
    """A prefix that runs a command without root's right to read everything; None if that is not possible."""
    if os.geteuid() != 0:
        return ()
    rights = "-dac_override,-dac_read_search"
    prefix = ("setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}")
    if shutil.which("setpriv") is None or subprocess.run([*prefix, "true"], check=False).returncode:
        return None
    return prefix


@pytest.fixture
def locked(tmp_path):
    """A folder with a sub-folder and a file that may not be read, and a prefix to run commands without that right."""
    prefix = without_roots_rights()
    if prefix is None:
        pytest.skip("root may read everything, and setpriv cannot drop that right here")
    folder = tmp_path / "docs"
    (folder / "shut").mkdir(parents=True)
    (folder / "shut" / "b.md").write_text("the dog")
    (folder / "a.md").write_text("the cat")
    (folder / "secret.md").write_text("the moon")
    (folder / "secret.md").chmod(0)
    (folder.parent / ".git").symlink_to(folder / "shut" / "b.md")  # which cannot be examined
    (folder / "shut").chmod(0)
    yield folder, prefix
    (folder / "shut").chmod(0o755)


@pytest.mark.slow
def test_each_entry_without_permission_is_one_skipped_entry(locked, tiny_checkpoint):
    folder, prefix = locked
    done = command("index", folder, "--model", tiny_checkpoint, "--json", prefix=prefix)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["skipped"] == [
        {"path": "secret.md", "reason": "could not be read: permission denied"},
        {"path": "shut/", "reason": "permission denied"},
    ]
    status = command("status", "--index", folder / ".cdesearch", "--json", prefix=prefix)
    assert status.returncode == 0 and "Errno" not in status.stderr
    facts = json.loads(status.stdout)
    assert (facts["new_files"], facts["modified_files"], facts["skipped_files"]) == (0, 0, 2)
    assert command("index", folder, "--strict", prefix=prefix).returncode == 3
    (folder / "secret.md").chmod(0o644)
    (folder / "shut").chmod(0o755)
    assert json.loads(command("index", folder, "--json", prefix=prefix).stdout)["documents"] == 3


NAMES = [b"new\nline.md", b"esc\x1b]0;title\x07.md", b"inv\xffalid.md", b"bell\x07.djvu", b"rtl\xe2\x80\xae.md"]


@pytest.fixture
def odd(tmp_path):
    for name in NAMES:
        text = "the cat\0" if name.endswith(b".djvu") else "the cat"  # a text would be read in spite of its suffix
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text(text)
    return tmp_path


def test_odd_names_are_printed_safely_everywhere(odd, tiny_checkpoint):
    for arguments in [
        ("index", odd, "--model", tiny_checkpoint),
        ("status", "--index", odd / ".cdesearch", "--files"),
    ]:
        done = command(*arguments)
        assert done.returncode == 0, done.stderr
        printed = done.stdout + done.stderr
        assert not set(printed) & {"\x1b", "\x07", "\u202e"} and "\udcff" not in printed
    status = command("status", "--index", odd / ".cdesearch", "--files", prefix=["env"])
    listed = status.stdout.splitlines()
    assert r"indexed  new\x0aline.md" in listed and r"indexed  inv\xffalid.md" in listed
    assert r"skipped  bell\x07.djvu  (unknown format .djvu)" in listed


@pytest.mark.slow
@pytest.mark.parametrize("name", [b"new\nline and \x1b[31m", b"inv\xffalid"])
def test_a_folder_with_an_odd_name_can_have_its_index_elsewhere(tmp_path, tiny_checkpoint, name):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    folder.mkdir()
    (folder / "a.md").write_text("the cat")
    place = tmp_path / "index"
    assert command("index", folder, "--model", tiny_checkpoint, "--index", place).returncode == 0
    for arguments in [("query", "cat"), ("status",), ("status", "--files", "--json")]:
        done = command(*arguments, "--index", place)
        assert done.returncode == 0, done.stderr
        assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.slow
def test_folders_nested_deeper_than_pythons_stack_are_walked(tmp_path):
    place = os.open(tmp_path, os.O_RDONLY)
    for _ in range(2100):
        os.mkdir("d", dir_fd=place)
        deeper = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = deeper
    os.close(place)
    items = list(find_sources([tmp_path], tmp_path, Selection(10**7)))
    subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)
    (item,) = items
    assert isinstance(item, Skipped) and item.reason == "file name too long"


def test_a_hostile_ignore_file_costs_little_time(tmp_path):
    (tmp_path / ".gitignore").write_text("*a*a*a*a*a*a*a*a*a*a*a*b\n" + "**/a/" * 20 + "b\n" + "[" * 5000 + "\n")
    deep = tmp_path / "/".join(["a"] * 60)
    deep.mkdir(parents=True)
    (deep / ("a" * 200 + ".md")).write_text("x")
    started = time.process_time()
    (item,) = (item for item in find_sources([tmp_path], tmp_path, Selection(10**7)) if isinstance(item, Source))
    assert time.process_time() - started < 5
    assert item.path.endswith("a.md")


def test_ignore_files_that_are_pipes_links_or_huge_are_reported(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "c").mkdir()
    os.mkfifo(tmp_path / "a" / ".gitignore")
    (tmp_path / "b" / ".gitignore").symlink_to("/dev/zero")
    (tmp_path / "c" / ".gitignore").write_text("x\n" * 1_000_000)
    found = {
        item.path: item.reason
        for item in find_sources([tmp_path], tmp_path, Selection(10**7))
        if isinstance(item, Skipped)
    }
    assert set(found) == {f"{folder}/.gitignore" for folder in "abc"}
    assert all("ignore file" in reason for reason in found.values())


def test_a_folder_that_may_not_be_read_at_all_is_an_error_in_one_line(locked, tiny_checkpoint):
    folder, prefix = locked
    done = command("index", folder / "shut" / "b.md", prefix=prefix)
    assert done.returncode == 2 and "permission denied" in done.stderr and "Traceback" not in done.stderr


def test_the_error_for_nothing_readable_names_the_first_entry(tmp_path, tiny_checkpoint):
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(CdesearchError, match=r"Skipped: pipe\.md \(not a regular file\)\."):
        build([tmp_path / "pipe.md"], Options(model=tiny_checkpoint), Silent())
    (tmp_path / "pipe.md").unlink()
    (tmp_path / "a.png").write_bytes(b"x")
    with pytest.raises(CdesearchError, match=r"ignored, the first: "):
        build([tmp_path], Options(model=tiny_checkpoint), Silent())
    assert Ignored("a.png", "image (.png)") in list(find_sources([tmp_path], tmp_path, Selection(10)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a[/b]", "p[red]x", ":bomb:s"])
def test_a_summary_names_a_folder_as_it_is_written(docs, name, tiny_checkpoint):
    """rich would replace markup and the names of emoji in these names of folders."""
    (docs / "broken.pdf").write_text("no PDF")
    made = run_here(["index", ".", "--model", tiny_checkpoint, "--index", f"x/{name}"], docs)
    assert made.returncode == 0, made.stderr
    assert made.stderr.count(f"{docs / 'x' / name}") == 3, "about skipped and ignored files, and about queries"
    changed = run_here(["index", "--index", f"x/{name}"], docs)
    assert changed.returncode == 0 and str(docs / "x" / name) in changed.stderr
