"""A source whose file system is not mounted keeps its documents: an empty mount point is not an empty folder.

The mounts are real. They need the rights of root.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from built import assert_same, contents
from command import cdesearch

from cdesearch.errors import SourceError
from cdesearch.progress import Silent
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="file systems are mounted on Linux alone"),
]


class Disk:
    """A folder at which a small file system can be mounted. Its files are those of another folder."""

    def __init__(self, place, files):
        self.place, self.files = place, files

    def mount(self):
        command = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(self.place)]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip(f"a file system cannot be mounted here: {made.stderr.strip()}")
        for file in self.files.iterdir():
            shutil.copy2(file, self.place)

    def unmount(self):
        subprocess.run(["umount", "--lazy", str(self.place)], check=True)


@pytest.fixture
def disk(tmp_path):
    """A mounted disk, outside tmp_path: pytest cannot remove a mount that a killed test leaves."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.md").write_text("the cat in the house")
    place = Path(tempfile.mkdtemp(prefix="cdesearch-disk-"))
    disk = Disk(place, tmp_path / "files")
    disk.mount()
    yield disk
    while place.is_mount():
        disk.unmount()
    place.rmdir()


@pytest.fixture
def indexed(disk, tmp_path, tiny_checkpoint):
    """The folder of an index of the disk and of another folder."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "b.md").write_text("the dog in the garden")
    build([disk.place, tmp_path / "docs"], Options(index=tmp_path / "index", model=tiny_checkpoint), Silent())
    return tmp_path / "index"


def test_an_update_keeps_the_documents_of_an_unmounted_disk_and_follows_the_others(disk, indexed, tmp_path):
    before = contents(indexed)
    disk.unmount()
    status = cdesearch("status", "--index", indexed, cwd=tmp_path)
    assert f"{disk.place} is not mounted. Its documents stay" in status.stderr
    listed = cdesearch("sources", "--index", indexed, cwd=tmp_path).stdout.splitlines()
    assert listed == [f"{disk.place}  (not mounted)", str(tmp_path / "docs")]
    run = cdesearch("index", "--index", indexed, cwd=tmp_path)
    assert f"{disk.place} is not mounted" in run.stderr
    assert_same(contents(indexed), before)
    (tmp_path / "docs" / "c.md").write_text("the new moon")
    cdesearch("query", "moon", "--update", "--mode", "text", "--index", indexed, cwd=tmp_path)
    names = {Path(path).name for path in contents(indexed)[0]["path"].to_pylist()}
    assert names == {"a.md", "b.md", "c.md"}
    assert Index(indexed).mounts == {disk.place}
    disk.mount()
    assert not build([], Options(index=indexed), Silent()).changed


def test_a_run_that_would_have_to_read_an_unmounted_disk_is_refused(disk, indexed):
    disk.unmount()
    with pytest.raises(SourceError, match="is not mounted, and this run would have to read it"):
        build([], Options(index=indexed, refresh_context=True), Silent())


def test_the_deleted_files_of_a_mounted_disk_are_removed(disk, indexed):
    (disk.place / "a.md").unlink()
    assert build([], Options(index=indexed), Silent()).n_documents == 1


def test_a_folder_with_files_in_place_of_a_disk_is_read(disk, indexed):
    disk.unmount()
    (disk.place / "d.md").write_text("a file on another disk")
    try:
        assert build([], Options(index=indexed), Silent()).n_documents == 2
    finally:
        (disk.place / "d.md").unlink()
    assert Index(indexed).mounts == set()


def test_sources_that_are_not_confirmed_are_not_looked_for(indexed, tmp_path):
    moved = shutil.copytree(indexed, tmp_path / "moved")
    assert "cdesearch trust" in cdesearch("sources", "--index", moved, cwd=tmp_path, code=2).stderr
