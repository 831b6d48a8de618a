"""What is indexed, and how far the world has moved on."""

import sys
import time
from collections.abc import Iterable
from importlib.metadata import entry_points
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdesearch.document_context import to_unit
from cdesearch.errors import IndexDamagedError
from cdesearch.files import OUTCOMES, FileRecord, read_files
from cdesearch.index import REBUILD, Index
from cdesearch.terminal import print_json, printable
from cdesearch.trust import require_trust

DRIFT_SAMPLE = 5_000
MEASURABLE = 16  # fewer vectors have no mean worth comparing


def read_status(index: Index) -> dict[str, Any]:
    """Facts of one index, in the order to show them.

    Raises IndexStateError; IndexUntrustedError before it looks into folders that nobody has confirmed.
    """
    with index.checks.explaining():
        return _facts(index)


def _facts(index: Index) -> dict[str, Any]:
    manifest = index.manifest
    require_trust(index, model=False)
    changes = _changes(index)
    return {
        "root": str(index.root),
        "documents": manifest.n_documents,
        "chunks": manifest.n_chunks,
        **{f"{outcome}_files": manifest.files[outcome] for outcome in OUTCOMES},
        "size_mb": round(index.size_bytes() / 1e6, 1),
        "updated_hours_ago": round((time.time() - manifest.updated) / 3600, 1),
        "model": manifest.model or "default",
        "model_fingerprint": manifest.model_fingerprint,
        "context": f"{manifest.context_size} chunks, seed {manifest.seed}",
        "context_fingerprint": manifest.context_fingerprint,
        "new_files": changes["new"],
        "modified_files": changes["modified"],
        "deleted_files": changes["deleted"],
        "missing_sources": [str(source) for source in index.sources if not source.exists()],
        "drift": _drift(index),
    }


def show_files(index: Index, *, only_skipped: bool, as_json: bool) -> None:
    """Print what became of every file: a line each, or one JSON object."""
    records = (file for file in read_files(index.generation) if not only_skipped or _is_lost(file))
    if as_json:
        rows = [{"path": file.path, "outcome": file.outcome, "reason": file.reason} for file in records]
        print_json({"root": str(index.root), "files": rows})
        return
    for file in records:
        reason = f"  ({file.reason})" if file.reason else ""
        sys.stdout.write(printable(f"{file.outcome}  {file.path}{reason}") + "\n")


def _is_lost(file: FileRecord) -> bool:
    """Whether something that should have been read was not: the whole file, or lines of one that is indexed."""
    return file.outcome == "skipped" or (file.outcome == "indexed" and bool(file.reason))


def _changes(index: Index) -> dict[str, int]:
    """Files that are new, modified and deleted since; the package that builds indexes knows which count."""
    (finder,) = entry_points(group="cdesearch.builders", name="changes")
    found: dict[str, int] = finder.load()(index)
    return found


def _drift(index: Index) -> str:
    """How far the corpus' mean vector has left the context sample's, in standard errors of that sample.

    A mean of J vectors strays by sqrt(trace of covariance / J); three of these are a corpus that changed.
    """
    sample, corpus = index.context.sample_vectors, _corpus_mean(index)
    if len(sample) < MEASURABLE:
        return "none"
    error = np.sqrt(sample.var(axis=0).sum() / len(sample))
    distance = float(np.linalg.norm(sample.mean(axis=0) - corpus) / error)
    word = "none" if distance < 2 else "small" if distance < 3 else "large: run cdesearch index --refresh-context"
    return f"{word} ({distance:.1f} standard errors)"


def _corpus_mean(index: Index) -> NDArray[np.float64]:
    """(d,) mean vector of the corpus: what the mean of a fresh context sample would be on average.

    Each text counts once, as the chunk that the sample would take: the one in the shortest document, n chunks long. It
    is drawn with weight 1 / sqrt(n), and counts by its chance to be drawn.
    """
    documents = index.documents.to_arrow().select(["id", "n_chunks"]).to_pydict()
    lengths = dict(zip(documents["id"], documents["n_chunks"], strict=True))
    chosen: dict[str, tuple[int, str, int]] = {}  # of each text: length of the document, chunk id, row
    read, share = _rows_of_some_texts(index)
    for chunk, document, content, row in read:
        length = lengths.get(document, 0)
        if length < 1:
            raise IndexDamagedError(f"The documents of {index.folder} are not those of its chunks.", REBUILD)
        candidate = length, chunk, row
        chosen[content] = min(chosen.get(content, candidate), candidate)
    if not chosen:
        raise IndexDamagedError(f"The table of chunks of {index.folder} is empty.", REBUILD)
    drawn = len(index.context.sample_vectors)
    chances = _chances(np.array([length**-0.5 for length, _, _ in chosen.values()]), share * drawn)
    weights = {row: chance for (_, _, row), chance in zip(chosen.values(), chances.tolist(), strict=True)}
    rows = index.chunks.take_row_ids(list(weights)).select(["vector"]).with_row_id().to_arrow()
    vectors = to_unit(np.stack(rows["vector"].to_numpy()))
    in_order = [weights[row] for row in rows["_rowid"].to_pylist()]
    mean: NDArray[np.float64] = np.average(vectors, axis=0, weights=in_order)
    return mean


def _chances(weights: NDArray[np.float64], size: float) -> NDArray[np.float64]:
    """(n,) chances to be among `size` texts that are drawn without replacement by `weights` (n,).

    Such a sample takes the texts with the smallest of n exponential times, whose rates are the weights (Efraimidis and
    Spirakis 2006): those below some time t, at which the chances 1 - exp(-weight * t) add up to the size.
    """
    if size >= len(weights):
        return np.ones(len(weights))
    low, high = 0.0, 1.0
    while (1 - np.exp(-weights * high)).sum() < size:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 - np.exp(-weights * middle)).sum() < size else (low, middle)
    chances: NDArray[np.float64] = 1 - np.exp(-weights * high)
    return chances


def _rows_of_some_texts(index: Index) -> tuple[Iterable[tuple[str, str, str, int]], float]:
    """Chunk id, document id, content hash and row of all chunks, or of those of a random share of the texts.

    Content hashes are uniform, so texts below a bound are such a sample. A corpus of few texts may have none there.
    """
    n_chunks = index.chunks.count_rows()
    columns = ["id", "document_id", "content_hash"]
    search = index.chunks.search().select(columns).with_row_id(True).limit(n_chunks)
    bound = f"content_hash < '{int(DRIFT_SAMPLE / n_chunks * 2**64):016x}'" if n_chunks > DRIFT_SAMPLE else None
    rows = (search.where(bound) if bound else search).to_arrow()
    share = DRIFT_SAMPLE / n_chunks if bound else 1.0
    if bound and len(set(rows["content_hash"].to_pylist())) < MEASURABLE:
        rows, share = index.chunks.search().select(columns).with_row_id(True).limit(n_chunks).to_arrow(), 1.0
    return zip(*(rows[name].to_pylist() for name in [*columns, "_rowid"]), strict=True), share
