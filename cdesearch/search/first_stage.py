"""Read the first-stage vectors of an index: those before corpus and document change them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from cdesearch.context.vectors import Floats
from cdesearch.search.documents import quoted
from cdesearch.store.index import Index

if TYPE_CHECKING:
    from cdesearch.encode.encoder import Encoder


def is_kept(index: Index, encoder: "Encoder") -> bool:
    """Whether the index has these vectors by the hashes of texts. Chunks that are read together have other keys."""
    return index.vectors.keeps_first_stage and not encoder.joins_chunks


def first_stage_of(index: Index, hashes: Iterable[str] | None = None) -> dict[str, Floats]:
    """The vectors (d,) of the texts with these hashes that are stored, or of all texts; raises IndexDamagedError."""
    with index.checks.reading_tables():
        search = index.first_stage.search().select(["key", "vector"])
        if hashes is not None:
            search = search.where(f"key IN ({', '.join(map(quoted, hashes))})")
        found = search.limit(index.first_stage.count_rows()).to_arrow()
        flat = found["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        vectors = flat.reshape(found.num_rows, -1).astype(np.float32)
    return dict(zip(found["key"].to_pylist(), vectors, strict=True))


def own_cosine(index: Index, encoder: "Encoder", query: str, chunk_hash: str) -> float | None:
    """The cosine of a query and a chunk, whitened but not changed by the document or by the context head.

    None if the index does not keep the vector.
    """
    if not is_kept(index, encoder):
        return None
    context = index.context_for(encoder)
    found = first_stage_of(index, [chunk_hash])
    if not found:
        return None
    asked = encoder.encode([query], "query", context.sample)
    pair = context.whitening.apply(np.concatenate([asked, *(vector[None] for vector in found.values())]))
    return float(pair[0] @ pair[1])
