"""Kinds of damage to a file, applied to a copy of an index."""

import os
import shutil
from pathlib import Path


def delete(file: Path) -> None:
    file.unlink()


def cut_in_half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def empty(file: Path) -> None:
    os.truncate(file, 0)


def flip_a_byte(file: Path) -> None:
    """Change one byte in the middle of the file, and keep the file's time."""
    before = file.stat()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x10
    file.write_bytes(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def flip_the_last_byte(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 0x01
    file.write_bytes(content)


def overwrite(file: Path) -> None:
    """Replace the content by as many meaningless bytes."""
    size = file.stat().st_size
    file.write_bytes((b"\x93garbage\x00\xff" * (size // 10 + 1))[:size])


def append(file: Path) -> None:
    with file.open("ab") as stream:
        stream.write(b"\x00more")


def make_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


KINDS = (delete, cut_in_half, empty, flip_a_byte, flip_the_last_byte, overwrite, append, make_a_folder)


def copied(index: Path, target: Path) -> Path:
    """A copy with the same times, in which no file is a hard link to another."""
    return shutil.copytree(index, target, copy_function=shutil.copy2)


def files(index: Path) -> list[str]:
    return sorted(file.relative_to(index).as_posix() for file in index.rglob("*") if file.is_file())
