"""The store of prepared data: arrays in folders that are named by what they were made from, and memory-mapped.

A folder is renamed when it is complete, so it can be copied to another machine at any time. Random numbers of a run
also follow from what they are for (`random_stream`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdesearch.errors import StorageError
from trainer.replacing import UNFINISHED, remove, writing

BLOCK = 1 << 13  # rows

Arrays = dict[str, NDArray[Any]]
Integers = NDArray[np.int64]


def digest_of(*parts: str | Iterable[str]) -> str:
    """A digest that names data made from texts and lists of texts; other texts have another digest."""
    digest = blake2b(digest_size=8)
    for part in parts:
        for text in [part] if isinstance(part, str) else part:
            encoded = text.encode("utf-8", "replace")
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


def stored(folder: Path, make: Callable[[], Arrays]) -> Arrays:
    """The arrays in `folder` by name, memory-mapped, which `make` makes if there are none; raises StorageError."""
    with writing(folder):
        is_stored = folder.is_dir()
    if not is_stored:
        arrays = make()
        unfinished = folder.with_name(folder.name + UNFINISHED)
        with writing(folder):
            remove(unfinished)
            unfinished.mkdir(parents=True)
            for name, array in arrays.items():
                np.save(unfinished / f"{name}.npy", array)
            unfinished.replace(folder)
    try:
        return {file.stem: np.load(file, mmap_mode="r") for file in folder.iterdir()}
    except (OSError, ValueError, EOFError):
        raise StorageError(
            f"{folder} is damaged.", "Delete it and run the same command again, and it is made again."
        ) from None


def stored_in_blocks(folder: Path, n: int, make: Callable[[int, int], Arrays]) -> Arrays:
    """The arrays in `folder`, made by `make(start, stop)` block by block, of which a stopped run loses only one."""
    parts = folder.with_name(f"{folder.name}.parts")

    def joined() -> Arrays:
        starts = range(0, max(1, n), BLOCK)
        blocks = [stored(parts / str(start), partial(make, start, min(start + BLOCK, n))) for start in starts]
        return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}

    found = stored(folder, joined)
    remove(parts)
    return found


@dataclass(frozen=True, slots=True)
class Rows:
    """n rows of values, which are stored end to end."""

    values: NDArray[Any]
    ends: Integers  # (n + 1,) where each row ends and the next one begins, from 0

    @classmethod
    def of(cls, values: NDArray[Any], lengths: NDArray[Any]) -> "Rows":
        return cls(values, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))

    def __len__(self) -> int:
        return len(self.ends) - 1

    def at(self, rows: Sequence[int] | Integers) -> list[NDArray[Any]]:
        chosen = np.asarray(rows, np.int64)
        bounds = zip(self.ends[chosen].tolist(), self.ends[chosen + 1].tolist(), strict=True)
        return [self.values[start:end] for start, end in bounds]

    def texts(self, rows: Sequence[int] | Integers) -> list[str]:
        """The rows at these positions as texts, if the values are UTF-8."""
        return [row.tobytes().decode() for row in self.at(rows)]


def encoded(texts: Iterable[str]) -> tuple[NDArray[np.uint8], Integers]:
    """The UTF-8 of texts end to end, and the length of each; halves of surrogate pairs become question marks."""
    parts = [text.encode("utf-8", "replace") for text in texts]
    return np.frombuffer(b"".join(parts), np.uint8), np.fromiter(map(len, parts), np.int64, len(parts))


def spans(firsts: Integers, lengths: Integers) -> Integers:
    """The numbers of all ranges, one after the other, from their firsts (n,) and lengths (n,)."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(firsts - ends + lengths, lengths)


def random_stream(seed: int, name: str, *numbers: int) -> np.random.Generator:
    """The generator of one purpose, named by a word and the numbers of its epoch, step or domain.

    Two purposes never share a stream, because name and numbers are hashed together. Plain lists of seeds would collide:
    NumPy's SeedSequence treats (0, 3) and (0, 3, 0) alike.
    """
    digest = blake2b(repr((seed, name, *numbers)).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))
