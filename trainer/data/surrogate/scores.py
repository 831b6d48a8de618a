"""Scores of the pairs by a frozen model and by BM25. Clustering, the filter and the teacher use them."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.model_tokens import Role
from cdesearch.search.fusion import Candidates, ZScoreFusion
from trainer.data.pairs.reading import Pair
from trainer.data.stored import damaged, digest_of, load_array, load_arrays, load_json
from trainer.data.surrogate.word_scores import WordScores
from trainer.recipe import Filter
from trainer.replacing import make_folder, open_new, remove, replace_text, replacing, writing

SHARD = 2048  # texts embedded between two writes
NO_NULL = np.empty(0)  # z-scores need no null distribution


def surrogate_vectors(
    name: str, texts: Sequence[str], role: Role, encoder: Encoder, folder: Path, advance: Callable[[int], None]
) -> Floats:
    """(n, d) unit vectors of `texts` in the null context, memory-mapped.

    They are stored by contents and model. `advance` is called after each write, and with 0 after each batch of texts.
    If it raises an exception, the next run continues after this batch; after a kill, it continues after the last write.
    Raises StorageError if the stored ones are damaged or cannot be written.
    """
    if not texts:
        return np.empty((0, encoder.dimension), np.float32)
    make_folder(folder)
    file = folder / f"{name}-{role}-{digest_of(texts, encoder.fingerprint)}.npy"
    state = file.with_suffix(".shards.json")
    shape = (len(texts), encoder.dimension)
    sums = _read_sums(state, -(-len(texts) // SHARD)) if state.exists() and file.exists() else []
    done = min(len(texts), len(sums) * SHARD)
    if not done:
        with writing(file), open_new(file) as stream:
            np.lib.format.write_array_header_1_0(stream, {"descr": "<f4", "fortran_order": False, "shape": shape})
            stream.truncate(stream.tell() + 4 * shape[0] * shape[1])
    vectors = load_array(file, mapped=True)
    if vectors.shape != shape or vectors.dtype != np.float32 or not isinstance(vectors, np.memmap):
        raise damaged(file)
    if any(_sum(vectors[number * SHARD : (number + 1) * SHARD].tobytes()) != one for number, one in enumerate(sums)):
        raise damaged(file)
    advance(done)
    for start in range(done, len(texts), SHARD):
        shard = texts[start : start + SHARD]
        part = file.with_suffix(f".{start}.part.npz")
        computed = _embedded(shard, role, encoder, part, advance).tobytes()
        # On a full disk, writing through the map would kill the process.
        with writing(file), file.open("r+b") as stream:
            stream.seek(vectors.offset + 4 * start * shape[1])
            stream.write(computed)
            stream.flush()
            os.fsync(stream.fileno())
        sums.append(_sum(computed))
        replace_text(state, json.dumps(sums))
        remove(part)
        advance(len(shard))
    return vectors


def _embedded(texts: Sequence[str], role: Role, encoder: Encoder, part: Path, advance: Callable[[int], None]) -> Floats:
    """(n, d) vectors of one shard. After an exception, those that are computed are in `part` for the next call."""
    vectors, done = np.zeros((len(texts), encoder.dimension), "<f4"), np.zeros(len(texts), np.bool_)
    if part.exists():
        kept = load_arrays(part)
        if {name: (one.shape, one.dtype) for name, one in kept.items()} != {
            "vectors": (vectors.shape, vectors.dtype),
            "done": (done.shape, done.dtype),
        }:
            raise damaged(part)
        vectors, done = kept["vectors"], kept["done"]
    left = np.flatnonzero(~done)
    try:
        # The shortest texts come first, so that the batches are those of a shard that is not interrupted.
        for rows, batch in encoder.stream([texts[row] for row in left.tolist()], role, None):
            vectors[left[rows]] = batch
            done[left[rows]] = True
            advance(0)
    except BaseException:
        if done.any():
            with writing(part), replacing(part) as stream:
                np.savez(stream, vectors=vectors, done=done)
        raise
    return vectors


def _sum(content: bytes) -> str:
    return blake2b(content, digest_size=8).hexdigest()


def _read_sums(file: Path, most: int) -> list[str]:
    """The checksum of each shard that is stored; raises StorageError."""
    sums = load_json(file)
    if not isinstance(sums, list) or len(sums) > most:
        raise damaged(file)
    return sums


@dataclass(frozen=True, slots=True)
class Surrogate:
    """The vectors and BM25 scores of N pairs of a domain."""

    queries: Floats  # (N, d) unit vectors
    documents: Floats  # (N, d)
    negatives: Floats  # (M, d), the hard negatives of all pairs of the domain that the recipe uses, in order
    first_negative: NDArray[np.int64]  # (N,) the start of each pair's hard negatives
    lexical: WordScores | None = None  # of all documents of the domain, then its hard negatives; None if not needed
    rows: NDArray[np.int64] | None = None  # (N,) of the pairs in the domain; None if these are all
    fingerprint: str = ""  # of the model

    def take(self, rows: Sequence[int]) -> "Surrogate":
        """The vectors and scores of the pairs at `rows`."""
        return replace(
            self,
            queries=self.queries[rows],
            documents=self.documents[rows],
            first_negative=self.first_negative[rows],
            rows=np.asarray(rows, np.int64) if self.rows is None else self.rows[rows],
        )

    def negative_rows(self, rows: NDArray[np.int64], pairs: Sequence[Pair]) -> list[int]:
        """Where the hard negatives of the `pairs` at `rows` are among those of the domain."""
        return [
            first + number
            for first, pair in zip(self.first_negative[rows].tolist(), pairs, strict=True)
            for number in range(len(pair.negatives))
        ]

    def view(self, rows: NDArray[np.int64], pairs: Sequence[Pair]) -> "BatchView":
        """The scores of one batch: the `pairs` at `rows`, whose documents are followed by all hard negatives."""
        indices = self.negative_rows(rows, pairs)
        own = self.documents[rows]
        vectors = np.concatenate([own, self.negatives[indices]]) if indices else own
        lexical = None
        if self.lexical is not None:
            n_documents = len(self.lexical) - len(self.negatives)
            in_domain = rows if self.rows is None else self.rows[rows]
            lexical = self.lexical.take(np.concatenate([in_domain, n_documents + np.array(indices, np.int64)]))
        return BatchView(self.queries[rows], vectors, [pair.query for pair in pairs], lexical)


class BatchView:
    """The surrogate's scores of one batch, by vectors and by BM25."""

    def __init__(self, queries: Floats, documents: Floats, texts: Sequence[str], lexical: WordScores | None) -> None:
        self._queries = queries  # (B, d)
        self._documents = documents  # (D, d)
        self._texts = texts  # B, of the queries
        self._lexical = lexical  # of the D documents

    def scores(self, kind: Filter, rows: slice) -> Floats:
        """(R, D) scores of the queries in `rows`: cosines, BM25, both fused, or zeros, by `kind`."""
        if kind == "none":
            return np.zeros((len(self._texts[rows]), len(self._documents)), np.float32)
        if kind == "text":
            return self._bm25(rows)
        dense: Floats = self._queries[rows] @ self._documents.T
        if kind == "dense":
            return dense
        candidates = Candidates(dense, self._bm25(rows), NO_NULL)
        return ZScoreFusion().scores(candidates).astype(np.float32, copy=False)

    def _bm25(self, rows: slice) -> Floats:
        assert self._lexical is not None
        return self._lexical.scores(self._texts[rows])
