"""BM25 of a domain's texts, by bm25s and scipy if they are installed, else word by word."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats
from trainer.data.interruptible import interruptible
from trainer.data.stored import damaged, digest_of, kept_arrays
from trainer.data.surrogate.plain_bm25 import PlainWordScores


class WordScores(Protocol):
    """The weight of each word in each of n texts."""

    @classmethod
    def fit(cls, texts: Iterable[str]) -> "WordScores":
        """Index all texts of a domain."""

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "WordScores":
        """The inverse of `to_arrays`."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The words of the vocabulary, one a line, and `weights`, `columns` and `starts` of a sparse matrix (n, V)."""

    def __len__(self) -> int:
        """The number of texts."""

    def take(self, rows: NDArray[np.int64]) -> "WordScores":
        """The scores of only the texts at `rows`, with the idf of the whole domain."""

    def scores(self, queries: Sequence[str]) -> Floats:
        """(Q, n) BM25 scores; a word that a query repeats counts once."""


ARRAYS = ("words", "weights", "columns", "starts")  # the rows of a sparse matrix, and the words of its columns


def kept_word_scores(file: Path, texts: Sequence[str], advance: Callable[[int], object]) -> WordScores:
    """The index of all texts of a domain that a batch can contain, stored in a file whose name begins with `file`.

    `advance` can stop it. Raises StorageError if the stored index is damaged.
    """
    kind, name = _kind()
    stored = file.with_name(f"{file.name}-{name}-{digest_of(texts)}.npz")
    arrays = kept_arrays(stored, ARRAYS, lambda: kind.fit(interruptible(texts, advance)).to_arrays())
    if not _is_sound(len(texts), **arrays):
        raise damaged(stored)
    return kind.of_arrays(arrays)


def _is_sound(n: int, words: NDArray[Any], weights: NDArray[Any], columns: NDArray[Any], starts: NDArray[Any]) -> bool:
    """Whether arrays from a file can be the index of n texts."""
    return (
        len(starts) == n + 1
        and starts[0] == 0
        and bool((np.diff(starts) >= 0).all())
        and starts[-1] == len(weights) == len(columns)
        and bool(((columns >= 0) & (columns <= np.count_nonzero(words == ord("\n")))).all())
    )


def _kind() -> tuple[type[WordScores], str]:
    """The class that this machine uses, and its name in files: the last bits of the weights differ."""
    if has_bm25s():
        from trainer.data.surrogate.sparse_bm25 import LexicalScores

        return LexicalScores, "sparse"
    return PlainWordScores, "plain"


def has_bm25s() -> bool:
    """Whether bm25s and scipy, which are faster, are installed."""
    return find_spec("bm25s") is not None and find_spec("scipy") is not None
