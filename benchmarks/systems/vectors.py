"""Vectors of a data set, stored on disk: several systems use the same ones, and computing them takes longest."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.ranking import Run, ranked
from benchmarks.systems.system import DEPTH
from cdesearch.context.vectors import Floats


def kept(folder: Path, model: str, texts: Sequence[str], make: Callable[[Sequence[str]], Floats]) -> Floats:
    """(n, d) vectors of `texts`, computed by `make` once and stored under the texts and the key `model`.

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


def nearest(dataset: Dataset, queries: Floats, documents: Floats) -> Run:
    """Rank the documents of every query by cosine."""
    return {
        name: ranked(dataset.ids, documents @ vector, name, DEPTH)
        for name, vector in zip(dataset.queries, queries, strict=True)
    }
