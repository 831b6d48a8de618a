"""Disks that are full, read-only or not mounted: one line, nothing lost, nothing left behind. The mounts are real."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from built import assert_same, contents, make_index, write_files
from command import cdesearch, cdesearch_process, picture

from cdesearch.errors import SourceError, StorageError
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="file systems are mounted on Linux alone"),
]


def mount(place):
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(place)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        place.rmdir()
        pytest.skip(f"a file system cannot be mounted here: {made.stderr.strip()}")


def unmount(place):
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def disk():
    """A file system of two megabytes, outside tmp_path: pytest cannot remove a mount that a killed test leaves."""
    place = Path(tempfile.mkdtemp(prefix="cdesearch-disk-"))
    mount(place)
    yield place
    while place.is_mount():
        unmount(place)
    place.rmdir()


def fill(disk, left):
    (disk / "ballast").write_bytes(b"x" * max(0, shutil.disk_usage(disk).free - left))


# Full disks.


@pytest.mark.parametrize("left", [0, 4_096, 20_000])
def test_an_update_on_a_full_disk_keeps_the_old_index(docs, disk, tiny_checkpoint, left):
    options = {"model": tiny_checkpoint, "index": disk / "index"}
    make_index([docs], **options)
    before = Index(disk / "index").manifest.n_chunks
    fill(disk, left)
    (docs / "new.md").write_text("the moon is new " * 4000)
    with pytest.raises(StorageError, match="full"):
        make_index([docs], **options)
    (docs / "new.md").write_text("the moon is new")
    run = cdesearch("query", "moon", "--mode", "text", "--index", disk / "index", cwd=docs)
    lacks = "This answer lacks 1 new, 0 modified and 0 deleted files: the index cannot be updated: The disk of"
    assert run.stdout and lacks in run.stderr
    assert Index(disk / "index").manifest.n_chunks == before
    (disk / "ballast").unlink()
    assert make_index([docs], **options).changed
    fill(disk, left)
    cdesearch("clear", disk / "index", "--yes", cwd=docs)
    assert not (disk / "index").exists()


@pytest.mark.parametrize("left", [0, 4_096, 20_000])
def test_a_first_run_on_a_full_disk_leaves_nothing_unless_it_has_embedded(docs, disk, tiny_checkpoint, left):
    fill(disk, left)
    with pytest.raises(StorageError, match="full"):
        make_index([docs], model=tiny_checkpoint, index=disk / "index")
    if left == 0:
        assert not (disk / "index").exists()
    (disk / "ballast").unlink()
    assert make_index([docs], model=tiny_checkpoint, index=disk / "index").changed


# A file system that nobody may write to, root included.


def on_read_only(folder, *arguments, code=0):
    script = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && cd "$1" && shift && exec "$@"'
    prefix = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", str(folder)]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a file system cannot be made read-only here")
    return cdesearch_process(*arguments, cwd=folder, code=code, prefix=prefix)


def test_an_index_on_a_read_only_file_system_answers_and_is_checked(docs, tiny_checkpoint):
    assert "cannot be written" in on_read_only(docs, "index", ".", code=2).stderr
    assert not (docs / ".cdesearch").exists()
    make_index([docs], model=tiny_checkpoint)
    (docs / "new.md").write_text("the moon")
    before = picture(docs)
    for mode in ("hybrid", "dense", "text"):
        found = on_read_only(docs, "query", "cat", "--model", tiny_checkpoint, "--mode", mode, "--json")
        there = [(hit["path"], hit["score"]) for hit in json.loads(found.stdout)["hits"]]
        here = Searcher(Index.open(docs)).search("cat", mode=mode)
        assert there == [(hit.chunk.path, pytest.approx(hit.score)) for hit in here] and found.stderr == ""
    assert json.loads(on_read_only(docs, "status", "--json").stdout)["new_files"] == 1
    on_read_only(docs, "doctor")
    for arguments in (["index", "."], ["index", ".", "--rebuild"], ["doctor", "--repair"], ["clear", "--yes"]):
        refused = on_read_only(docs, *arguments, code=2)
        assert "cannot be written. Mount its file system with permission" in refused.stderr.splitlines()[-1]
    assert picture(docs) == before


# A source whose file system is not mounted: an empty mount point is not an empty folder.


@pytest.fixture
def indexed(disk, tmp_path, tiny_checkpoint):
    """The folder of an index of the disk and of another folder."""
    (disk / "a.md").write_text("the cat in the house")
    docs = write_files(tmp_path / "docs", {"b.md": "the dog in the garden"})
    make_index([disk, docs], index=tmp_path / "index", model=tiny_checkpoint)
    return tmp_path / "index"


def test_an_update_keeps_the_documents_of_an_unmounted_disk_and_follows_the_others(disk, indexed, tmp_path):
    before = contents(indexed)
    saved = shutil.copytree(disk, tmp_path / "saved")
    unmount(disk)
    status = cdesearch("status", "--index", indexed, cwd=tmp_path)
    assert f"{disk} is not mounted. Its documents stay" in status.stderr
    listed = cdesearch("sources", "--index", indexed, cwd=tmp_path).stdout.splitlines()
    assert listed == [f"{disk}  (not mounted)", str(tmp_path / "docs")]
    with pytest.raises(SourceError, match="is not mounted, and this run would have to read it"):
        make_index([], index=indexed, refresh_context=True)
    assert f"{disk} is not mounted" in cdesearch("index", "--index", indexed, cwd=tmp_path).stderr
    assert_same(contents(indexed), before)
    (tmp_path / "docs" / "c.md").write_text("the new moon")
    cdesearch("query", "moon", "--mode", "text", "--index", indexed, cwd=tmp_path)
    names = {Path(path).name for path in contents(indexed)[0]["path"].to_pylist()}
    assert names == {"a.md", "b.md", "c.md"}
    mount(disk)
    shutil.copytree(saved, disk, dirs_exist_ok=True)
    assert not make_index([], index=indexed).changed
    (disk / "a.md").unlink()
    assert make_index([], index=indexed).documents == 2
