import errno
import os
import shutil

import pytest
from file_size_limit import files_of_at_most

from cdesearch.errors import StorageError
from trainer.replacing import REPLACED, UNFINISHED, replace_folder, replace_text, replacing, writing


def write_one(folder):
    folder.mkdir()
    (folder / "new").write_text("new")


def test_a_file_replaces_a_link_and_not_the_file_that_it_leads_to(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name in ("file", f"file{UNFINISHED}"):
        (tmp_path / name).symlink_to(victim)
    replace_text(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "new" and victim.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "victim"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "file") as stream:
        stream.write(b"new")
        raise KeyboardInterrupt
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(StorageError, match=r"none/file cannot be written \(No such file"):
        replace_text(tmp_path / "none" / "file", "new")


def test_a_folder_is_replaced_whole_and_its_remnants_are_removed(tmp_path):
    for name in ("out", f"out{UNFINISHED}", f"out{REPLACED}"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "old").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "out")
    replace_folder(tmp_path / "link", write_one)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["link", "out", "out/new"]


def test_a_copy_that_a_full_disk_stops_keeps_the_old_folder(tmp_path):
    for name, size in (("new", 2000), ("best", 10)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights").write_bytes(bytes(size))
    with files_of_at_most(1000), pytest.raises(StorageError, match=r"best cannot be written \(.*\)\. Raise the limit"):
        replace_folder(tmp_path / "best", lambda unfinished: shutil.copytree(tmp_path / "new", unfinished))
    assert (tmp_path / "best" / "weights").stat().st_size == 10
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best", "new"]


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "Free some space, and"),
        (errno.EDQUOT, "Free some space, and"),
        (errno.ENOENT, "Check the path and its permissions, and"),
        (errno.EACCES, "Check the path and its permissions, and"),
    ],
)
def test_the_remedy_of_a_failed_write_fits_the_error(tmp_path, number, remedy):
    with (
        pytest.raises(StorageError, match=rf"file cannot be written \(.*\)\. {remedy} run"),
        writing(tmp_path / "file"),
    ):
        raise OSError(number, os.strerror(number))


def test_remnants_that_are_links_are_not_followed(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    for ending in (UNFINISHED, REPLACED):
        (tmp_path / f"out{ending}").symlink_to(tmp_path / "mine")
    replace_folder(tmp_path / "out", write_one)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "out"]
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["file"]
