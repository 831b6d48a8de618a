"""Vectors of a data set, kept on disk: the slowest part of every dense system, and the same in many."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from benchmarks.datasets.dataset import Dataset
from benchmarks.quality.measures import Run, ranked
from benchmarks.systems.system import DEPTH
from cdesearch.context.vectors import Floats


def kept(folder: Path, model: str, texts: Sequence[str], make: Callable[[Sequence[str]], Floats]) -> Floats:
    """(n, d) vectors of `texts` by what `model` names, made once."""
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
    """Documents by cosine."""
    return {
        name: ranked(dataset.ids, documents @ vector, name, DEPTH)
        for name, vector in zip(dataset.queries, queries, strict=True)
    }
