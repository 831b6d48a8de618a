"""Facts about an index for the `status` command: what is indexed, and what has changed since."""

import sys
import time
from collections.abc import Iterable
from importlib.metadata import entry_points
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import to_unit
from cdesearch.errors import IndexDamagedError
from cdesearch.store.damage import damaged
from cdesearch.store.file_account import OUTCOMES, FileRecord, read_files
from cdesearch.store.folder import rebuild_remedy
from cdesearch.store.index import Index
from cdesearch.store.trust import require_trust
from cdesearch.terminal import print_json, printable

DRIFT_SAMPLE = 5_000  # chunks of a larger corpus whose vectors are read
MEASURABLE = 16  # the mean of fewer vectors is too uncertain to compare


def read_status(index: Index) -> dict[str, Any]:
    """Facts about one index, in the order in which they are shown.

    Raises IndexStateError, and IndexUntrustedError before any folder is read that the user has not confirmed.
    """
    with index.checks.reporting_damage():
        return _facts(index)


def _facts(index: Index) -> dict[str, Any]:
    manifest = index.manifest
    require_trust(index, model=False)
    changes = _changes(index)
    with index.checks.reading_tables():
        drift = _drift(index)
    return {
        "root": str(index.root),
        "documents": manifest.n_documents,
        "chunks": manifest.n_chunks,
        **{f"{outcome}_files": manifest.files[outcome] for outcome in OUTCOMES},
        "size_mb": round(index.size_bytes() / 1e6, 1),
        "updated_hours_ago": round(max(0.0, time.time() - manifest.updated) / 3600, 1),
        "model": manifest.model or "default",
        "model_fingerprint": manifest.model_fingerprint,
        "context": f"{manifest.context_size} chunks, seed {manifest.seed}",
        "context_fingerprint": manifest.context_fingerprint,
        "new_files": changes["new"],
        "modified_files": changes["modified"],
        "deleted_files": changes["deleted"],
        "missing_sources": [str(source) for source in index.sources if not source.exists()],
        "drift": drift,
    }


def show_files(index: Index, *, only_skipped: bool, as_json: bool) -> None:
    """Print what was done with every file: a line for each, or one JSON object."""
    records = (file for file in read_files(index.generation) if not only_skipped or _is_unread(file))
    if as_json:
        rows = [{"path": file.path, "outcome": file.outcome, "reason": file.reason} for file in records]
        print_json({"root": str(index.root), "files": rows})
        return
    is_empty = True
    for file in records:
        is_empty = False
        reason = f"  ({file.reason})" if file.reason else ""
        sys.stdout.write(printable(f"{file.outcome}  {file.path}{reason}") + "\n")
    if only_skipped and is_empty:
        sys.stderr.write("No file was skipped.\n")


def _is_unread(file: FileRecord) -> bool:
    """Whether the whole file, or a part of an indexed file, should have been read and was not."""
    return file.outcome == "skipped" or (file.outcome == "indexed" and bool(file.reason))


def _changes(index: Index) -> dict[str, int]:
    """How many files are new, modified and deleted since the last run. The package that builds indexes counts them."""
    (finder,) = entry_points(group="cdesearch.builders", name="changes")
    found: dict[str, int] = finder.load()(index)
    return found


def _drift(index: Index) -> str:
    """How far the corpus' mean vector is from the context sample's mean, in standard errors of that sample.

    The mean of J vectors has a standard error of sqrt(trace of covariance / J). Three of them mean that the corpus has
    changed.
    """
    sample, corpus = index.context.sample_vectors, _corpus_mean(index)
    if len(sample) < MEASURABLE:
        return "none"
    error = np.sqrt(sample.var(axis=0).sum() / len(sample))
    distance = float(np.linalg.norm(sample.mean(axis=0) - corpus) / error)
    word = "none" if distance < 2 else "small" if distance < 3 else "large: run cdesearch index --refresh-context"
    return f"{word} ({distance:.1f} standard errors)"


def _corpus_mean(index: Index) -> NDArray[np.float64]:
    """(d,) mean vector of the corpus: the expected mean of a fresh context sample.

    Each text counts once, as the chunk that the sample would contain: the chunk in the shortest document, which has n
    chunks. It is drawn with weight 1 / sqrt(n), and is weighted by its probability to be drawn.
    """
    documents = index.documents.to_arrow().select(["id", "n_chunks"]).to_pydict()
    lengths = dict(zip(documents["id"], documents["n_chunks"], strict=True))
    chosen: dict[str, tuple[int, str, int]] = {}  # of each text: length of the document, chunk id, row
    some_rows, share = _rows_of_some_texts(index)
    for chunk, document, content, row in some_rows:
        length = lengths.get(document, 0)
        if length < 1:
            raise IndexDamagedError(
                f"The documents of {index.folder} are not those of its chunks.", rebuild_remedy(index.folder)
            )
        candidate = length, chunk, row
        chosen[content] = min(chosen.get(content, candidate), candidate)
    if not chosen:
        raise IndexDamagedError(f"The table of chunks of {index.folder} is empty.", rebuild_remedy(index.folder))
    drawn = len(index.context.sample_vectors)
    probabilities = _inclusion_probabilities(
        np.array([length**-0.5 for length, _, _ in chosen.values()]), share * drawn
    )
    weights = {row: weight for (_, _, row), weight in zip(chosen.values(), probabilities.tolist(), strict=True)}
    rows = index.chunks.take_row_ids(list(weights)).select(["vector"]).with_row_id().to_arrow()
    vectors = to_unit(np.stack(rows["vector"].to_numpy()))
    if not np.isfinite(vectors).all():
        raise damaged(index.folder, "it holds vectors that are not numbers")
    in_order = [weights[row] for row in rows["_rowid"].to_pylist()]
    mean: NDArray[np.float64] = np.average(vectors, axis=0, weights=in_order)
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


def _rows_of_some_texts(index: Index) -> tuple[Iterable[tuple[str, str, str, int]], float]:
    """Chunk id, document id, content hash and row id of the chunks of a random share of the texts, and that share.

    Content hashes are uniform, so the texts with a hash below a bound are such a sample. The share is 1 for a small
    corpus, and if so few texts are below the bound that their mean is too uncertain.
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
