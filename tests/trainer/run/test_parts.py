import os

import pytest

from cdesearch.errors import StorageError
from trainer.run import parts
from trainer.run.parts import read_parts, write_parts


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "PART", 100)
    return tmp_path / "state.pt"


def write(file, content):
    write_parts(file, memoryview(content))
    return sorted(path.stat().st_size for path in file.parent.iterdir())


def test_a_file_of_any_size_is_read_as_it_was_written_and_old_parts_are_removed(file):
    small, large, larger = b"s" * 100, os.urandom(250), os.urandom(301)
    assert write(file, large)[-3:].count(100) == 2 and read_parts(file) == large
    assert len(write(file, larger)) == 5 and read_parts(file) == larger
    assert len(write(file, larger)) == 5 and read_parts(file) == larger
    assert write(file, small) == [100] and read_parts(file) == small


def test_a_part_that_is_missing_or_cut_is_named(file):
    write(file, os.urandom(250))
    last = max(file.parent.glob("state.pt.*"))
    last.write_bytes(b"")
    with pytest.raises(StorageError, match="not complete"):
        read_parts(file)
    last.unlink()
    with pytest.raises(StorageError, match=f"has no part {last.name}"):
        read_parts(file)


def test_files_whose_names_only_resemble_parts_are_kept(file):
    others = [file.with_name(f"state.pt.{ending}") for ending in ("notes-2024", "0123456789abcdef-x", "0123-4")]
    for other in others:
        other.write_bytes(b"mine")
    write(file, os.urandom(250))
    write(file, b"short")
    assert {path.name for path in file.parent.iterdir()} == {file.name, *(other.name for other in others)}


@pytest.mark.parametrize("listed", [b"{}", b"[3, 4]", b'[["../../passwd"], 4]', b"[[[]], 1]", b"[" * 100_000])
def test_a_damaged_list_of_parts_is_refused(file, listed):
    file.write_bytes(b"cdesearch parts 1\n" + listed)
    with pytest.raises(StorageError, match=r"list of parts in .*state\.pt is damaged"):
        read_parts(file)


@pytest.mark.parametrize("good", [1, 3])
def test_a_failed_write_keeps_the_previous_content(file, monkeypatch, good):
    before = os.urandom(250)
    sizes = write(file, before)
    fsync, calls = os.fsync, []

    def full_after_some(descriptor):
        calls.append(descriptor)
        if len(calls) > good:
            raise OSError(28, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full_after_some)
    with pytest.raises(OSError, match="No space"):
        write_parts(file, memoryview(os.urandom(260)))
    assert read_parts(file) == before
    assert sorted(path.stat().st_size for path in file.parent.iterdir()) == sizes
