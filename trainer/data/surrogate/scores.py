"""Scores of the pairs by a frozen model and by BM25. Clustering, the filter and the teacher use them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.model_tokens import Role
from cdesearch.search.fusion import Candidates, ZScoreFusion
from trainer.data.store import Arrays, Integers, digest_of, stored_in_blocks
from trainer.data.surrogate.word_scores import WordScores
from trainer.recipe import Filter

NO_NULL = np.empty(0)  # z-scores need no null distribution


def surrogate_vectors(
    name: str, texts: Sequence[str], role: Role, encoder: Encoder, folder: Path, advance: Callable[[int], object]
) -> Floats:
    """(n, d) unit vectors of `texts` in the null context, memory-mapped.

    They are stored by contents and model, block by block. Raises StorageError if they cannot be written.
    """

    def embedded(start: int, stop: int) -> Arrays:
        vectors = np.zeros((stop - start, encoder.dimension), np.float32)
        for rows, batch in encoder.stream(texts[start:stop], role, None) if stop > start else ():
            vectors[rows] = batch
            advance(len(rows))
        return {"vectors": vectors}

    digest = digest_of(encoder.fingerprint, texts)
    return stored_in_blocks(folder / f"{name}-{role}-{digest}", len(texts), embedded)["vectors"]


@dataclass(frozen=True, slots=True)
class Surrogate:
    """The vectors and BM25 scores of the N pairs of a domain, and of its M hard negatives."""

    queries: Floats  # (N, d) unit vectors
    documents: Floats  # (N, d)
    negatives: Floats  # (M, d), those of all pairs that the recipe uses, in order
    lexical: WordScores | None = None  # of all documents, then the hard negatives; None if not needed
    fingerprint: str = ""  # of the model

    def view(self, rows: Integers, negatives: Integers, queries: Sequence[str]) -> "BatchView":
        """The scores of one batch: the pairs at `rows`, whose documents are followed by the `negatives`."""
        vectors = np.concatenate([self.documents[rows], self.negatives[negatives]])
        lexical = None
        if self.lexical is not None:
            lexical = self.lexical.take(np.concatenate([rows, len(self.documents) + negatives]))
        return BatchView(self.queries[rows], vectors, queries, lexical)


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
