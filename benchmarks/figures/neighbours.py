"""The figure about the neighbours that training keeps (coCondenser, figure 3)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets.dataset import Dataset
from benchmarks.figures.figure import Drawing
from benchmarks.systems.contextual import Contextual
from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder
from cdesearch.progress import Display

NEAREST = (50, 100)  # n
DEPTHS = (50, 100, 200, 300, 500, 700, 1000)  # k
AT_ONCE = 256  # queries

Rows = NDArray[np.intp]


def neighbours(
    datasets: Sequence[Dataset], stages: Sequence[tuple[str, Encoder, Encoder]], work: Path, display: Display
) -> Drawing:
    """How many of the n documents that the second stage ranks first are among the k best of the first stage.

    `stages` are names with the models of a first and a second stage, such as a model before and after it was trained
    with the negatives that it has mined. Vectors are plain. Corpora of fewer than k documents leave a depth out.
    """
    least = min(len(dataset.ids) for dataset in datasets)
    depths = [depth for depth in DEPTHS if depth < least] or [least]
    series: dict[str, list[tuple[float, float]]] = {}
    advance = display.stage("Ranking documents", 2 * len(stages) * len(datasets))
    for name, first, second in stages:
        ranked = []
        for dataset in datasets:
            display.note(f"{dataset.name}: {name}")
            rows = []
            for encoder in (first, second):
                rows.append(_best(dataset, encoder, depths[-1], work))
                advance(1)
            ranked.append(rows)
        for n in NEAREST:
            if n <= depths[-1]:
                series[f"{name}, n = {n}"] = [
                    (float(k), float(np.mean([neighbour_recall(*rows, n=n, k=k) for rows in ranked])))
                    for k in depths
                    if k >= n
                ]
    title = "Which neighbours does the second stage keep?"
    return Drawing("neighbours", title, "k", "nb-recall@k x 100", series, log_x=True)


def neighbour_recall(first: Rows, second: Rows, *, n: int, k: int) -> float:
    """nb-recall_n@k x 100: |first k of `first` and first n of `second`| / n, over queries (Q, depth)."""
    shares = [len(np.intersect1d(one[:k], other[:n])) / n for one, other in zip(first, second, strict=True)]
    return 100 * float(np.mean(shares))


def _best(dataset: Dataset, encoder: Encoder, depth: int, work: Path) -> Rows:
    """(Q, depth) the rows of the nearest documents of each query, the nearest first."""
    queries, documents = Contextual(encoder, work, "null").vectors(dataset)
    parts = [_nearest(queries[at : at + AT_ONCE], documents, depth) for at in range(0, len(queries), AT_ONCE)]
    return np.concatenate(parts)


def _nearest(queries: Floats, documents: Floats, depth: int) -> Rows:
    return np.argsort(-(queries @ documents.T), axis=1, kind="stable")[:, :depth]
