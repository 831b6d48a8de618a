"""Data sets of development data: samples of a training domain."""

from pathlib import Path

import numpy as np

from benchmarks.datasets.dataset import Dataset
from trainer.data.pairs.reading import domain_name, read_pairs


def read_domain(file: Path, documents: int, characters: int, queries: int) -> Dataset:
    """A sample of the documents of a pair file, each cut to `characters`, with one query for some of them.

    The sample is the same in every run.
    """
    asked: dict[str, str] = {}
    for pair in read_pairs(file):
        asked.setdefault(pair.document[:characters], pair.query)
    random = np.random.default_rng(0)
    every = list(asked)
    texts = [every[row] for row in random.permutation(len(every))[:documents]]
    name = domain_name(file)
    ids = tuple(f"{name}-{row}" for row in range(len(texts)))
    rows = random.permutation(len(texts))[:queries].tolist()
    questions = {f"query-{row}": asked[texts[row]] for row in rows}
    judged = {f"query-{row}": {ids[row]: 1} for row in rows}
    return Dataset(name, file, ids, tuple(texts), questions, judged, ())
