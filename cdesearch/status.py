"""What is indexed, and how far the world has moved on."""

import time
from typing import Any

import numpy as np

from cdesearch.index import Index

DRIFT_SAMPLE = 5_000


def read_status(index: Index) -> dict[str, Any]:
    """Facts of one index, in the order to show them."""
    manifest = index.manifest
    modified, deleted = _changed(index)
    return {
        "root": str(index.root),
        "documents": manifest.n_documents,
        "chunks": manifest.n_chunks,
        "skipped_files": len(manifest.skipped),
        "size_mb": round(index.size_bytes() / 1e6, 1),
        "updated_hours_ago": round((time.time() - manifest.updated) / 3600, 1),
        "model": manifest.model or "default",
        "model_fingerprint": manifest.model_fingerprint,
        "context": f"{manifest.context_size} chunks, seed {manifest.seed}",
        "context_fingerprint": manifest.context_fingerprint,
        "modified_files": modified,
        "deleted_files": deleted,
        "drift": _drift(index),
    }


def _changed(index: Index) -> tuple[int, int]:
    """Files modified and deleted since; new ones are found by `cdesearch index`."""
    modified = deleted = 0
    rows = index.documents.to_arrow().select(["path", "size", "mtime_ns"]).to_pylist()
    for path, size, mtime in {(row["path"], row["size"], row["mtime_ns"]) for row in rows}:
        try:
            stat = (index.root / path).stat()
        except OSError:
            deleted += 1
            continue
        modified += (stat.st_size, stat.st_mtime_ns) != (size, mtime)
    return modified, deleted


def _drift(index: Index) -> str:
    """How far the corpus' mean vector has left the context sample's, in standard errors of that sample.

    A mean of J vectors strays by sqrt(trace of covariance / J); three of these are a corpus that changed.
    """
    table = index.chunks.search().select(["id", "vector"]).limit(DRIFT_SAMPLE).to_arrow()
    vectors = np.stack(table["vector"].to_numpy())
    inside = np.isin(np.array(table["id"].to_pylist()), np.array(index.context.chunk_ids))
    if inside.sum() < 8 or (~inside).sum() < 8:
        return "none"
    sample, rest = vectors[inside], vectors[~inside]
    error = np.sqrt(sample.var(axis=0).sum() / len(sample) + rest.var(axis=0).sum() / len(rest))
    distance = float(np.linalg.norm(sample.mean(axis=0) - rest.mean(axis=0)) / error)
    word = "none" if distance < 2 else "small" if distance < 3 else "large: run cdesearch index --refresh-context"
    return f"{word} ({distance:.1f} standard errors)" if word != "none" else word
