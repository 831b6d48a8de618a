"""A large file in parts that can be copied one by one. Writing replaces the whole file or changes nothing.

A file of at most PART bytes is written as it is. Otherwise it is a list of the parts, which are files beside it.
"""

import json
import os
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from cdesearch.errors import StorageError

PART = 60 << 20  # bytes
_INDEX = b"cdesearch parts 1\n"


def write_parts(file: Path, content: memoryview) -> None:
    """Write `content` as `file` and, if it is long, as `file.DIGEST-NUMBER`.

    If it raises OSError, the previous content is kept. The parts of the previous content are removed at the end.
    """
    if len(content) <= PART:
        names: list[str] = []
        _write_whole(file, content)
    else:
        digest = blake2b(content, digest_size=8).hexdigest()
        starts = range(0, len(content), PART)
        names = [f"{file.name}.{digest}-{number}" for number in range(len(starts))]
        try:
            for name, start in zip(names, starts, strict=True):
                _write_whole(file.with_name(name), content[start : start + PART])
            _write_whole(file, memoryview(_INDEX + json.dumps([names, len(content)]).encode()))
        except OSError:
            _remove(file, set(_names(file)))
            raise
    _remove(file, set(names))


def read_parts(file: Path) -> bytes:
    """The content of `file`, with all its parts; raises StorageError if one is missing or of another length."""
    names = _names(file)
    if not names:
        return file.read_bytes()
    _, length = json.loads(file.read_bytes()[len(_INDEX) :])
    missing = [name for name in names if not file.with_name(name).is_file()]
    if missing:
        raise StorageError(f"{file} has no part {missing[0]}.", "Copy all its parts beside it.")
    content = b"".join(file.with_name(name).read_bytes() for name in names)
    if len(content) != length:
        raise StorageError(f"The parts of {file} are not complete.", "Copy all of them again.")
    return content


def _names(file: Path) -> list[str]:
    with suppress(FileNotFoundError), file.open("rb") as stream:
        if stream.read(len(_INDEX)) == _INDEX:
            names: list[str] = json.loads(stream.read())[0]
            return names
    return []


def _write_whole(file: Path, content: memoryview) -> None:
    fresh = file.with_name(f"{file.name}.new")
    try:
        with fresh.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    fresh.replace(file)


def _remove(file: Path, kept: set[str]) -> None:
    for part in file.parent.glob(f"{file.name}.*-*"):
        if part.name not in kept:
            part.unlink()
