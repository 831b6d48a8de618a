"""First-stage vectors that another index of this user has, such as that of another checkout of a repository.

They depend on the text and on the weights of tokens alone, so an index that borrows vectors has the weights as well.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from cdesearch.context.context import Context
from cdesearch.encode.encoder import Encoder
from cdesearch.errors import CdesearchError, IndexStateError
from cdesearch.store.filesystem import foreign_owner
from cdesearch.store.index import Index
from cdesearch.store.known import known_places
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.embedding.spool import KEY, Spool

LEAST_CHUNKS = 1_000  # of both indexes; two cores embed fewer in less than 20 s
LEAST_SHARE = 0.5  # of the texts, so that the weights of tokens are those of a similar corpus
ROWS = 10_000  # that are in memory at the same time


def borrow(spool: Spool, cache: EmbeddingCache, encoder: Encoder, own: Path) -> tuple[Path, Context, int] | None:
    """Take the vectors of the texts in `spool` from the index of the same model that has most of them.

    Returns its place, its context, whose weights of tokens the vectors have, and their number; None if no index has
    enough, or if it is removed meanwhile. `own` is the folder of the new index.
    """
    cache.clear()  # what a stopped run has taken, perhaps from another index
    keys = {key for (key,) in spool.rows(KEY)}
    index, rows = max(_lenders(keys, encoder.fingerprint, own), key=lambda one: len(one[1]), default=(None, []))
    if index is None or len(rows) < LEAST_SHARE * len(keys):
        return None
    try:
        context = index.context_for(encoder)
        with index.checks.reading_tables():
            for start in range(0, len(rows), ROWS):
                cache.take(index.first_stage.take_offsets(rows[start : start + ROWS]).to_arrow())
    except IndexStateError:
        cache.clear()
        return None
    return index.folder, context, len(rows)


def _lenders(keys: set[str], fingerprint: str, own: Path) -> Iterator[tuple[Index, list[int]]]:
    """Yield each other index of the same model, with the rows of its vectors of these texts."""
    for place in known_places():
        with suppress(CdesearchError, OSError):  # it was removed, or cannot be read
            index = Index(place)
            manifest = index.manifest
            is_alike = manifest.is_complete and manifest.model_fingerprint == fingerprint
            has_vectors = manifest.n_chunks >= LEAST_CHUNKS and index.vectors.keeps_first_stage
            if place == own or not is_alike or not has_vectors or foreign_owner(place) is not None:
                continue
            with index.checks.reading_tables():
                n_rows = index.first_stage.count_rows()
                found = index.first_stage.search().select(["key"]).limit(n_rows).to_arrow()["key"].to_pylist()
            yield index, [row for row, key in enumerate(found) if key in keys]
