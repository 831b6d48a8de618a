"""The protocol of the systems that are compared, their rankings, and the vectors that several of them share."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets.dataset import Dataset
from cdesearch.context.vectors import Floats

DEPTH = 100  # documents per query

Run = Mapping[str, Sequence[str]]  # from a query to documents, best first


class BenchmarkSystem(Protocol):
    """A search system that ranks the documents of a data set."""

    name: str

    def retrieve(self, dataset: Dataset) -> Run:
        """The DEPTH best documents of every query, without a document that has the query's id."""


def ranked(ids: Sequence[str], scores: NDArray[np.floating], own: str, k: int) -> list[str]:
    """The `k` best ids without the query's own, as BEIR does for ArguAna; equal scores are sorted by id."""
    n = min(k + 1, len(ids))
    edge = np.partition(-scores, n - 1)[n - 1]
    best = sorted((-scores[row], ids[row]) for row in np.flatnonzero(-scores <= edge).tolist())
    return [name for _, name in best if name != own][:k]


def nearest(dataset: Dataset, queries: Floats, documents: Floats) -> Run:
    """Rank the documents of every query by cosine."""
    return {
        name: ranked(dataset.ids, documents @ vector, name, DEPTH)
        for name, vector in zip(dataset.queries, queries, strict=True)
    }


def kept(folder: Path, model: str, texts: Sequence[str], make: Callable[[Sequence[str]], Floats]) -> Floats:
    """(n, d) vectors of `texts`. `make` computes them once; they are stored under the texts and the key `model`.

    The key must name everything else that the vectors depend on: weights, precision, role and context.
    """
    digest = blake2b(model.encode(), digest_size=12)
    for text in texts:
        digest.update(text.encode("utf-8", "replace") + b"\0")
    file = folder / f"{digest.hexdigest()}.npy"
    if file.exists():
        stored: Floats = np.load(file)
        return stored
    vectors = make(texts)
    folder.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(".new.npy")
    np.save(fresh, vectors)
    fresh.replace(file)
    return vectors
