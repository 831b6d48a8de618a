import pytest
from built import write_files

from cdesearch.errors import StorageError
from trainer.replacing import REPLACED, UNFINISHED, replace_folder, replacing


def write_one(folder):
    folder.mkdir()
    (folder / "new").write_text("new")


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "file") as stream:
        stream.write(b"new")
        raise KeyboardInterrupt
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(StorageError, match=r"none/out cannot be written \(No such file"):
        replace_folder(tmp_path / "none" / "out", write_one)


def test_a_folder_is_replaced_whole_and_its_remnants_are_removed(tmp_path):
    write_files(tmp_path, {f"{name}/old": "old" for name in ("out", f"out{UNFINISHED}", f"out{REPLACED}")})
    (tmp_path / "link").symlink_to(tmp_path / "out")
    replace_folder(tmp_path / "link", write_one)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["link", "out", "out/new"]
