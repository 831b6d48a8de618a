"""A large file in parts that can be copied one by one. Writing replaces the whole file or changes nothing.

A file of at most PART bytes is written as it is. Otherwise it is a list of the parts, which are files beside it.
"""

import json
import re
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from cdesearch.errors import StorageError
from trainer.replacing import replacing

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
        digest = _digest(content)
        starts = range(0, len(content), PART)
        names = [f"{file.name}.{digest}-{number}" for number in range(len(starts))]
        try:
            for name, start in zip(names, starts, strict=True):
                _write_whole(file.with_name(name), content[start : start + PART])
            _write_whole(file, memoryview(_INDEX + json.dumps([names, len(content)]).encode()))
        except OSError:
            with suppress(StorageError):  # the previous content is damaged: no part is removed
                _remove(file, set(_names(file)))
            raise
    _remove(file, set(names))


def read_parts(file: Path) -> bytes:
    """The content of `file`, with all its parts; raises StorageError if one is missing or of another length."""
    names, length = _listed(file)
    if not names:
        return file.read_bytes()
    missing = [name for name in names if not file.with_name(name).is_file()]
    if missing:
        raise StorageError(f"{file} has no part {missing[0]}.", "Copy all its parts beside it.")
    content = b"".join(file.with_name(name).read_bytes() for name in names)
    if len(content) != length:
        raise StorageError(f"The parts of {file} are not complete.", "Copy all of them again.")
    if not names[0].startswith(f"{file.name}.{_digest(memoryview(content))}-"):
        raise StorageError(f"A part of {file} is damaged.", "Copy all of them again.")
    return content


def is_split(file: Path) -> bool:
    """Whether a file is a list of parts."""
    if not file.is_file() or file.is_symlink():
        return False
    with file.open("rb") as stream:
        return stream.read(len(_INDEX)) == _INDEX


def remove_parts(file: Path) -> None:
    """Remove all parts beside `file`, which is whole; raises OSError."""
    _remove(file, set())


def _digest(content: memoryview) -> str:
    return blake2b(content, digest_size=8).hexdigest()


def _names(file: Path) -> list[str]:
    return _listed(file)[0]


def _listed(file: Path) -> tuple[list[str], int]:
    """The names of the parts of `file` and their total length; no names if it is not a list of parts.

    Raises StorageError for a damaged list.
    """
    try:
        with file.open("rb") as stream:
            if stream.read(len(_INDEX)) != _INDEX:
                return [], 0
            names, length = json.loads(stream.read())
    except FileNotFoundError:
        return [], 0
    except (ValueError, TypeError, RecursionError):
        raise StorageError(f"The list of parts in {file} is damaged.", "Copy it again.") from None
    if not isinstance(names, list) or not all(isinstance(name, str) and _is_part(file, name) for name in names):
        raise StorageError(f"The list of parts in {file} is damaged.", "Copy it again.")
    return names, length


def _is_part(file: Path, name: str) -> bool:
    """Whether `name` has the form of the names that `write_parts` chooses for parts of `file`."""
    return re.fullmatch(re.escape(file.name) + r"\.[0-9a-f]{16}-[0-9]+", name) is not None


def _write_whole(file: Path, content: memoryview) -> None:
    with replacing(file) as stream:
        stream.write(content)


def _remove(file: Path, kept: set[str]) -> None:
    for part in file.parent.iterdir():
        if _is_part(file, part.name) and part.name not in kept:
            part.unlink()
