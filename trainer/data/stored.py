"""Read and write arrays and counts of prepared data.

Prepared data may be copied between machines, so every file is checked: a copy can be incomplete.
"""

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any
from zipfile import BadZipFile
from zlib import error as ZlibError  # noqa: N812 (a class)

import numpy as np
from numpy.typing import NDArray

from cdesearch.errors import StorageError
from trainer.replacing import make_folder, refuse_link, replace_text, replacing, writing

BLOCK = 1 << 14  # pairs or texts whose results are written at once, so that a run that is stopped loses no more


def damaged(file: Path) -> StorageError:
    """The error of a file of prepared data that is not as it was written."""
    return StorageError(
        f"{file} is damaged.", "Copy it again, or delete it and run the same command again, and it is made again."
    )


def save_sums(file: Path, files: Iterable[Path]) -> None:
    """Write the checksums of `files`, which are beside `file`; raises StorageError."""
    with writing(file):
        sums = {one.name: _sum(one) for one in files}
    replace_text(file, json.dumps(sums))


def check_sums(file: Path, files: Sequence[Path]) -> None:
    """Raise StorageError, with its name, if one of `files` is not as it was when its checksum was written to `file`."""
    sums = load_json(file)
    if not isinstance(sums, dict):
        raise damaged(file)
    for one in files:
        try:
            is_sound = sums.get(one.name) == _sum(one)
        except OSError:
            is_sound = False
        if not is_sound:
            raise damaged(one)


def _sum(file: Path) -> str:
    refuse_link(file)
    with file.open("rb") as stream:
        return file_digest(stream, "blake2b").hexdigest()[:32]


def digest_of(texts: Iterable[str], first: str = "") -> str:
    """A digest that names data made from `first` and `texts`; other texts have another digest."""
    digest = blake2b(first.encode(), digest_size=8)
    for text in texts:
        encoded = text.encode("utf-8", "replace")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


def save_array(file: Path, array: NDArray[Any]) -> None:
    """Replace `file` by an array; raises StorageError."""
    with writing(file), replacing(file) as stream:
        np.save(stream, array)


def load_array(file: Path, *, mapped: bool = False) -> NDArray[Any]:
    """The array in a file, in memory or memory-mapped; raises StorageError, and InputError for a link."""
    refuse_link(file)
    try:
        if mapped:
            return np.asanyarray(np.load(file, mmap_mode="r"))
        with file.open("rb") as stream:
            return np.asarray(np.load(stream))
    except (OSError, ValueError, EOFError):
        raise damaged(file) from None


def load_offsets(file: Path) -> NDArray[np.int64]:
    """An array of whole numbers that begins with 0 or more and never falls; raises StorageError, InputError."""
    offsets = load_array(file)
    if offsets.ndim != 1 or offsets.dtype != np.int64 or np.any(np.diff(offsets, prepend=0) < 0):
        raise damaged(file)
    return offsets


def load_arrays(file: Path) -> dict[str, NDArray[Any]]:
    """The arrays in an .npz file by name; raises StorageError, and InputError for a link."""
    refuse_link(file)
    try:
        with file.open("rb") as stream, np.load(stream) as found:
            return dict(found)
    except (OSError, ValueError, EOFError, AttributeError, TypeError, BadZipFile, ZlibError):
        raise damaged(file) from None


def kept_arrays(
    file: Path, names: Collection[str], make: Callable[[], dict[str, NDArray[Any]]]
) -> dict[str, NDArray[Any]]:
    """The arrays `names` in an .npz file, or those that `make` returns, which are then stored there.

    The .npz format has a checksum of each array. Raises StorageError, and InputError for a link.
    """
    make_folder(file.parent)
    if file.exists():
        kept = load_arrays(file)
        if kept.keys() != set(names):
            raise damaged(file)
        return kept
    arrays = make()
    with writing(file), replacing(file) as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type] # no array has the name of its option
    return arrays


def load_json(file: Path) -> Any:
    """The value in a JSON file; raises StorageError, and InputError for a link."""
    refuse_link(file)
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise damaged(file) from None
