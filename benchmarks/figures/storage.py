"""The figure about quality against bytes (pplx-embed, table 1 and section 3.3)."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.datasets.dataset import Dataset
from benchmarks.figures.figure import Drawing
from benchmarks.quality.measures import measure_run
from benchmarks.systems.contextual import Contextual
from benchmarks.systems.stored import as_stored
from benchmarks.systems.vectors import nearest
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.encode.encoder import Encoder

NARROWER = (256, 192, 128)  # dimensions that are kept of wider vectors
FORMS: dict[str, Callable[[int], float]] = {  # bytes of a stored vector by its dimensions
    "float32": lambda dimension: 4 * dimension,
    "float16": lambda dimension: 2 * dimension,
    "int8": lambda dimension: dimension + 4,
    "binary documents": lambda dimension: dimension / 8,
}
CONTEXTS = {"null": "plain", "document": "contextual"}


def storage(datasets: Sequence[Dataset], encoder: Encoder, work: Path) -> Drawing:
    """Mean nDCG@10 by the number of vectors in a megabyte, for each precision and some numbers of dimensions.

    *Contextual* vectors have the statistics of the corpus and the context of the document, *plain* ones have neither.
    """
    widths = [encoder.dimension, *(width for width in NARROWER if width < encoder.dimension)]
    series = {}
    for kind, name in CONTEXTS.items():
        embedded = [Contextual(encoder, work, kind).vectors(dataset) for dataset in datasets]
        for width in widths:
            narrowed = [_narrowed(*sides, width) for sides in embedded]
            series[f"{name}, {width} dimensions"] = [
                (1e6 / size(width), _mean_ndcg(datasets, narrowed, form)) for form, size in FORMS.items()
            ]
    title = f"Quality against bytes: {', '.join(FORMS)}, from left to right"
    y = "nDCG@10 x 100"
    return Drawing("storage", title, "vectors in a megabyte", y, series, log_x=True, point_names=tuple(FORMS))


def stored_as(queries: Floats, documents: Floats, form: str) -> tuple[Floats, Floats]:
    """Unit vectors of queries (Q, d), and those of documents (D, d) after they were stored in one of FORMS."""
    if form in ("float32", "float16"):
        return queries, documents.astype(form).astype(np.float32)
    rounded = as_stored(queries, documents, form, scale=1.0)
    return to_unit(rounded[0]), to_unit(rounded[1])


def _narrowed(queries: Floats, documents: Floats, width: int) -> tuple[Floats, Floats]:
    if width == documents.shape[1]:
        return queries, documents
    kept = as_stored(queries, documents, f"axes {width}", scale=1.0)
    return to_unit(kept[0]), to_unit(kept[1])


def _mean_ndcg(datasets: Sequence[Dataset], embedded: Sequence[tuple[Floats, Floats]], form: str) -> float:
    means = [
        float(measure_run(dataset.judgements, nearest(dataset, *stored_as(*sides, form)))["nDCG@10"].mean())
        for dataset, sides in zip(datasets, embedded, strict=True)
    ]
    return float(np.mean(means))
