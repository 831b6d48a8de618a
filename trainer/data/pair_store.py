"""Pairs on disk, memory-mapped: the UTF-8 bytes of each column in one file, and the start of each text in another."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

TEXTS = ("query", "document", "document_id")  # columns with one text per pair
LISTS = ("negatives",)  # columns with any number of texts per pair
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
    """Writes rows into a folder; the table can be opened after the `with` block."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._files: dict[str, BinaryIO] = {}
        self._starts = {name: array("q", [0]) for name in COLUMNS}
        self._first = {name: array("q", [0]) for name in LISTS}

    def __enter__(self) -> "PairWriter":
        self._files = {name: (self._folder / f"{name}.utf8").open("wb") for name in COLUMNS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        for file in self._files.values():
            file.close()
        if kind is None:
            for name in COLUMNS:
                np.save(self._folder / f"{name}.starts.npy", np.asarray(self._starts[name], np.int64))
            for name in LISTS:
                np.save(self._folder / f"{name}.first.npy", np.asarray(self._first[name], np.int64))

    def write(self, row: dict[str, Any]) -> None:
        """Append one row; lone surrogates, which UTF-8 cannot encode, become question marks."""
        for name in TEXTS:
            self._append(name, (row[name],))
        for name in LISTS:
            self._append(name, row[name])
            self._first[name].append(len(self._starts[name]) - 1)

    def _append(self, name: str, texts: Iterable[str]) -> None:
        starts = self._starts[name]
        for text in texts:
            content = text.encode("utf-8", "replace")
            self._files[name].write(content)
            starts.append(starts[-1] + len(content))


def open_pairs(folder: Path) -> PairTable:
    """All rows of a folder that a PairWriter has finished."""
    texts = {name: _Texts(_mapped(folder / f"{name}.utf8"), np.load(folder / f"{name}.starts.npy")) for name in COLUMNS}
    first = {name: np.load(folder / f"{name}.first.npy") for name in LISTS}
    return PairTable(texts, first, np.arange(len(texts[TEXTS[0]].starts) - 1))


def _mapped(file: Path) -> NDArray[np.uint8]:
    if not file.stat().st_size:  # an empty file cannot be mapped
        return np.empty(0, np.uint8)
    return np.memmap(file, np.uint8, "r")
