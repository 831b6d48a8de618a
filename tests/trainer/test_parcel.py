import os

import pytest

from cdesearch.errors import InputError, StorageError
from trainer.parcel import join, main, split


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A folder with a long file, and its copy in parts."""
    monkeypatch.setattr("trainer.run.parts.PART", 100)
    folder = tmp_path / "checkpoint"
    (folder / "onnx").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "onnx" / "graph.onnx").write_bytes(os.urandom(250))
    split(folder, tmp_path / "parcel")
    return folder, tmp_path / "parcel"


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_is_split_and_joined_as_it_was(copied):
    folder, parcel = copied
    assert max(map(len, contents(parcel).values())) <= 200 and len(contents(parcel)) == 5
    assert [file.name for file in join(parcel)] == ["graph.onnx"]
    assert contents(parcel) == contents(folder)
    assert join(parcel) == []


def test_a_part_that_was_damaged_on_the_way_is_found_and_nothing_is_joined(copied, capsys):
    _, parcel = copied
    part = min((parcel / "onnx").glob("graph.onnx.*"))
    part.write_bytes(b"\0" * len(part.read_bytes()))
    before = contents(parcel)
    with pytest.raises(StorageError, match=r"A part of .*graph\.onnx is damaged\. Copy all of them again"):
        join(parcel)
    assert contents(parcel) == before
    assert main(["join", str(parcel)]) == 2 and capsys.readouterr().err.startswith("error: A part of ")


def test_a_folder_with_files_is_not_overwritten(copied):
    folder, parcel = copied
    with pytest.raises(InputError, match="is not an empty folder"):
        split(folder, parcel)
    with pytest.raises(InputError, match="There is no folder"):
        split(parcel / "none", parcel / "new")
