"""Pairs on disk, memory-mapped: the UTF-8 bytes of each column in one file, and the start of each text in another."""

from array import array
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cdesearch.errors import StorageError
from trainer.data.stored import load_offsets, save_array
from trainer.replacing import make_folder, refuse_link, replacing

TEXTS = ("query", "document", "document_id", "place")  # columns with one text per pair; a number is written as text
LISTS = ("negatives", "scores")  # columns with any number of texts per pair; numbers are written as texts
COLUMNS = (*TEXTS, *LISTS)

Offsets = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Texts:
    """m texts, stored end to end."""

    content: NDArray[np.uint8]
    starts: Offsets  # (m + 1,) in bytes

    def __getitem__(self, index: int) -> str:
        return self.content[self.starts[index] : self.starts[index + 1]].tobytes().decode("utf-8")


@dataclass(frozen=True, slots=True)
class PairTable:
    """Rows of a stored table, in the order of `rows`; texts are decoded when they are read."""

    texts: dict[str, _Texts]
    first: dict[str, Offsets]  # of each list column: (N + 1,) the first text of each stored row
    rows: Offsets  # (n,)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Sequence[int] | Offsets) -> "PairTable":
        """The rows at these positions."""
        return replace(self, rows=self.rows[np.asarray(rows, np.int64)])

    def column(self, name: str) -> list[Any]:
        """The text of each row, or the list of texts of each row."""
        texts = self.texts[name]
        if name in TEXTS:
            return [texts[row] for row in self.rows.tolist()]
        first = self.first[name]
        return [[texts[index] for index in range(first[row], first[row + 1])] for row in self.rows.tolist()]


class PairWriter:
    """Writes rows into a folder; the table can be opened after the `with` block. Raises OSError for a full disk."""

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self._folder = folder
        self._opened = ExitStack()
        self._files: dict[str, BinaryIO] = {}
        self._starts = {name: array("q", [0]) for name in COLUMNS}
        self._first = {name: array("q", [0]) for name in LISTS}

    def __enter__(self) -> "PairWriter":
        for name in COLUMNS:
            self._files[name] = self._opened.enter_context(replacing(self._folder / f"{name}.utf8"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.__exit__(kind, error, trace)
        if kind is None:
            for name in COLUMNS:
                save_array(self._folder / f"{name}.starts.npy", np.asarray(self._starts[name], np.int64))
            for name in LISTS:
                save_array(self._folder / f"{name}.first.npy", np.asarray(self._first[name], np.int64))

    def write(self, row: dict[str, Any]) -> None:
        """Append one row; lone surrogates, which UTF-8 cannot encode, become question marks."""
        for name in TEXTS:
            self._append(name, (str(row[name]),))
        for name in LISTS:
            self._append(name, map(str, row[name]))
            self._first[name].append(len(self._starts[name]) - 1)

    def _append(self, name: str, texts: Iterable[str]) -> None:
        starts = self._starts[name]
        for text in texts:
            content = text.encode("utf-8", "replace")
            self._files[name].write(content)
            starts.append(starts[-1] + len(content))


def stored_files(folder: Path) -> list[Path]:
    """The files that a PairWriter writes into `folder`."""
    refuse_link(folder)
    names = [f"{name}.{end}" for name in COLUMNS for end in ("utf8", "starts.npy")]
    return [folder / name for name in (*names, *(f"{name}.first.npy" for name in LISTS))]


def open_pairs(folder: Path) -> PairTable:
    """All rows of a folder that a PairWriter has finished; raises StorageError if a file is not as it was written."""
    refuse_link(folder)
    try:
        texts = {name: _open_texts(folder, name) for name in COLUMNS}
        first = {name: load_offsets(folder / f"{name}.first.npy") for name in LISTS}
    except (OSError, StorageError):
        raise _damaged(folder) from None
    n = len(texts[TEXTS[0]].starts) - 1
    fits = [len(texts[name].starts) == n + 1 for name in TEXTS]
    fits += [len(rows) == n + 1 and rows[-1] == len(texts[name].starts) - 1 for name, rows in first.items()]
    if not all(fits):
        raise _damaged(folder)
    return PairTable(texts, first, np.arange(n))


def _damaged(folder: Path) -> StorageError:
    return StorageError(f"The files in {folder} are damaged.", "Delete the folder, and it is made again.")


def _open_texts(folder: Path, name: str) -> _Texts:
    starts, content = load_offsets(folder / f"{name}.starts.npy"), _mapped(folder / f"{name}.utf8")
    if not len(starts) or starts[-1] != len(content):
        raise _damaged(folder)
    return _Texts(content, starts)


def _mapped(file: Path) -> NDArray[np.uint8]:
    refuse_link(file)
    if not file.stat().st_size:  # an empty file cannot be mapped
        return np.empty(0, np.uint8)
    return np.memmap(file, np.uint8, "r")
