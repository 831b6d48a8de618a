"""Measure how far a corpus has moved away from its context, which is a sample of its chunks."""

from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats, to_unit
from cdesearch.errors import IndexDamagedError
from cdesearch.store.index import Index
from cdesearch.store.layout import rebuild_remedy
from cdesearch.store.place import Place
from cdesearch.store.vector_format import VectorFormat

DRIFT_SAMPLE = 5_000  # the approximate number of vectors that are read of a larger corpus
MIN_VECTORS = 16  # the mean of fewer vectors is too uncertain to be compared


def level_of(standard_errors: float | None) -> str:
    """The level of a drift in standard errors: "none", "small" (from 2 on) or "large" (from 3 on).

    Of a sample that is too small, whose standard errors are None, the level is "none".
    """
    if standard_errors is None or standard_errors < 2:
        return "none"
    return "small" if standard_errors < 3 else "large"


def describe(standard_errors: float | None) -> str:
    """A description of a drift in standard errors, such as "small (2.4 standard errors)"."""
    level = level_of(standard_errors)
    return level if standard_errors is None else f"{level} ({standard_errors:.1f} standard errors)"


def measure_drift(index: Index) -> float | None:
    """What `drift_of` returns; raises IndexDamagedError, and IndexStateError for a stage of an unfinished build."""
    if not index.manifest.is_complete:
        raise index.unfinished()
    sample = index.context.sample_vectors
    with index.checks.reading_tables():
        return drift_of(sample, index.chunks, index.documents.to_arrow(), index.vectors, index.place)


def drift_of(sample: Floats, chunks: Any, documents: Any, vectors: VectorFormat, place: Place) -> float | None:
    """The distance between the means of a table of chunks and of the `sample` (n, d), in standard errors of the latter.

    The mean of n vectors has the standard error sqrt(trace of their covariance / n). None for a sample that is too
    small. `documents` are the rows of the documents table, and `place` is that of the index. Raises IndexDamagedError.
    """
    # Only an index without text has no drift. A forged one may have chunks whose documents count none.
    if not pc.sum(documents["n_chunks"]).as_py() and not chunks.count_rows():
        return None
    corpus_mean = _corpus_mean(chunks, documents, len(sample), vectors, place)
    error = np.sqrt(sample.var(axis=0).sum() / max(len(sample), 1))
    if len(sample) < MIN_VECTORS or not error:  # all signs of a small dimension can be equal
        return None
    return float(np.linalg.norm(sample.mean(axis=0).astype(np.float64) - corpus_mean) / error)


def _corpus_mean(chunks: Any, documents: Any, drawn: int, vectors: VectorFormat, place: Place) -> NDArray[np.float64]:
    """The expected mean vector (d,) of a new context sample of `drawn` chunks.

    Each distinct text counts once, even if several chunks contain it. It is represented by the chunk that the sampler
    would use, which is the chunk in the shortest document. If this document has n chunks, the text is drawn with the
    weight 1 / sqrt(n), and its vector is weighted by its probability to be drawn.
    """
    some_rows, share = _rows_of_some_texts(chunks)
    # A million documents as Python objects would need .25 GB.
    known = documents.filter(pc.is_in(documents["id"], pc.unique(some_rows["document_id"])))
    lengths = dict(zip(known["id"].to_pylist(), known["n_chunks"].to_pylist(), strict=True))
    chosen: dict[str, tuple[int, str, int]] = {}  # by content hash: chunks of the document, chunk id, row id
    columns = (some_rows[name].to_pylist() for name in ["id", "document_id", "content_hash", "_rowid"])
    for chunk, document, content, row in zip(*columns, strict=True):
        length = lengths.get(document, 0)
        if length < 1:
            raise IndexDamagedError(f"The documents of {place} are not those of its chunks.", rebuild_remedy(place))
        candidate = length, chunk, row
        chosen[content] = min(chosen.get(content, candidate), candidate)
    if not chosen:
        raise IndexDamagedError(f"The table of chunks of {place} is empty.", rebuild_remedy(place))
    probabilities = _inclusion_probabilities(
        np.array([length**-0.5 for length, _, _ in chosen.values()]), share * drawn
    )
    weights = {row: weight for (_, _, row), weight in zip(chosen.values(), probabilities.tolist(), strict=True)}
    rows = chunks.take_row_ids(list(weights)).select(vectors.columns).with_row_id().to_arrow()
    units = to_unit(vectors.read(rows, place))
    in_order = [weights[row] for row in rows["_rowid"].to_pylist()]
    mean: NDArray[np.float64] = np.average(units, axis=0, weights=in_order)
    return mean


def _inclusion_probabilities(weights: NDArray[np.float64], size: float) -> NDArray[np.float64]:
    """(n,) probabilities to be among `size` texts that are drawn without replacement by `weights` (n,).

    Such a sample takes the texts with the smallest of n exponential times, whose rates are the weights (Efraimidis and
    Spirakis 2006): those below some time t, at which the probabilities 1 - exp(-weight * t) add up to the size.
    """
    if size >= len(weights):
        return np.ones(len(weights))
    low, high = 0.0, 1.0
    while (1 - np.exp(-weights * high)).sum() < size:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 - np.exp(-weights * middle)).sum() < size else (low, middle)
    probabilities: NDArray[np.float64] = 1 - np.exp(-weights * high)
    return probabilities


def _rows_of_some_texts(chunks: Any) -> tuple[Any, float]:
    """Id, document, content hash and row id of the chunks of some random texts, and the texts' share.

    Content hashes are uniformly distributed, so the texts with a hash below a bound are a random sample. The share is 1
    for a small corpus, and also if so few texts are below the bound that their mean is too uncertain.
    """
    n_chunks = chunks.count_rows()
    columns = ["id", "document_id", "content_hash"]
    search = chunks.search().select(columns).with_row_id(True).limit(n_chunks)
    bound = f"content_hash < '{int(DRIFT_SAMPLE / n_chunks * 2**64):016x}'" if n_chunks > DRIFT_SAMPLE else None
    rows = (search.where(bound) if bound else search).to_arrow()
    share = DRIFT_SAMPLE / n_chunks if bound else 1.0
    if bound and len(set(rows["content_hash"].to_pylist())) < MIN_VECTORS:
        rows, share = chunks.search().select(columns).with_row_id(True).limit(n_chunks).to_arrow(), 1.0
    return rows, share
