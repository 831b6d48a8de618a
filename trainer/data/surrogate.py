"""What a frozen model, and BM25, think of the pairs: for clustering, for the filter, as teacher."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder, Role
from cdesearch.search.fusion import Candidates, ZScoreFusion
from trainer.data.pairs import Pair
from trainer.recipe import Filter
from trainer.run.atomic_file import write_whole

SHARD = 2048  # texts between two flushes
K1, B = 0.9, 0.4
NO_NULL = np.empty(0)  # z-scores need no null distribution


def surrogate_vectors(
    name: str, texts: Sequence[str], role: Role, encoder: Encoder, folder: Path, advance: Callable[[int], None]
) -> Floats:
    """(n, d) unit vectors of `texts` in null context, memory-mapped.

    Cached by contents and model; a run that was stopped goes on after the last flush.
    """
    if not texts:
        return np.empty((0, encoder.dimension), np.float32)
    digest = blake2b(encoder.fingerprint.encode(), digest_size=8)
    for text in texts:
        digest.update(text.encode("utf-8", "replace"))
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}-{role}-{digest.hexdigest()}.npy"
    state = file.with_suffix(".json")
    done = json.loads(state.read_text(encoding="utf-8")) if state.exists() and file.exists() else 0
    shape = (len(texts), encoder.dimension)
    mode = "r+" if done else "w+"
    vectors = np.lib.format.open_memmap(file, mode=mode, dtype=np.float32, shape=shape)
    advance(done)
    for start in range(done, len(texts), SHARD):
        shard = texts[start : start + SHARD]
        vectors[start : start + len(shard)] = encoder.encode(shard, role, None)
        vectors.flush()
        write_whole(state, json.dumps(start + len(shard)))
        advance(len(shard))
    return vectors


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """BM25 with the document frequencies of one domain."""

    idf: dict[str, float]
    unseen: float  # idf of a word that no document has
    mean_length: float

    @classmethod
    def fit(cls, documents: Sequence[str]) -> "LexicalScores":
        """Count a domain's documents."""
        counts: Counter[str] = Counter()
        length = 0
        for document in documents:
            words = _words(document)
            counts.update(set(words))
            length += len(words)
        n = len(documents)
        idf = {word: math.log(1 + (n - count + 0.5) / (count + 0.5)) for word, count in counts.items()}
        return cls(idf, math.log(1 + (n + 0.5) / 0.5), max(1.0, length / max(1, n)))

    def over(self, documents: Sequence[str]) -> "Postings":
        """The documents of a batch, by their words."""
        weights: dict[str, list[tuple[int, float]]] = {}
        for place, document in enumerate(documents):
            words = _words(document)
            norm = K1 * (1 - B + B * len(words) / self.mean_length)
            for word, count in Counter(words).items():
                weight = self.idf.get(word, self.unseen) * count * (K1 + 1) / (count + norm)
                weights.setdefault(word, []).append((place, weight))
        return Postings(weights, len(documents))


@dataclass(frozen=True, slots=True)
class Postings:
    """Which of a batch's documents hold a word, and what it is worth there."""

    weights: dict[str, list[tuple[int, float]]]
    n_documents: int

    def scores(self, queries: Sequence[str]) -> Floats:
        """(Q, D) BM25."""
        table = np.zeros((len(queries), self.n_documents), np.float32)
        for row, query in enumerate(queries):
            for word in set(_words(query)):
                for place, weight in self.weights.get(word, ()):
                    table[row, place] += weight
        return table


@dataclass(frozen=True, slots=True)
class Surrogate:
    """What is known of a domain's pairs before training."""

    queries: Floats  # (N, d) unit vectors
    documents: Floats  # (N, d)
    negatives: Floats  # (M, d), all pairs' hard negatives that the recipe uses, in order
    first_negative: NDArray[np.int64]  # (N,) where a pair's begin
    lexical: LexicalScores

    def take(self, rows: Sequence[int]) -> "Surrogate":
        """What is known of the pairs at `rows`."""
        return replace(
            self,
            queries=self.queries[rows],
            documents=self.documents[rows],
            first_negative=self.first_negative[rows],
        )

    def view(self, rows: NDArray[np.int64], pairs: Sequence[Pair], documents: Sequence[str]) -> "BatchView":
        """What it thinks of one batch: the `pairs` at `rows`, own `documents` first, then the hard negatives of all."""
        places = [
            first + number
            for first, pair in zip(self.first_negative[rows], pairs, strict=True)
            for number in range(len(pair.negatives))
        ]
        own = self.documents[rows]
        vectors = np.concatenate([own, self.negatives[places]]) if places else own
        return BatchView(self.queries[rows], vectors, [pair.query for pair in pairs], documents, self.lexical)


class BatchView:
    """The surrogate's scores of one batch, by both sides."""

    def __init__(
        self, queries: Floats, documents: Floats, asked: Sequence[str], texts: Sequence[str], lexical: LexicalScores
    ) -> None:
        self._queries = queries  # (B, d)
        self._documents = documents  # (D, d)
        self._asked = asked
        self._texts = texts
        self._lexical = lexical

    def scores(self, kind: Filter, rows: slice) -> Floats:
        """(R, D) of the queries in `rows`: cosines, BM25, both fused, or nothing but zeros."""
        if kind == "none":
            return np.zeros((len(self._asked[rows]), len(self._documents)), np.float32)
        if kind == "text":
            return self._postings.scores(self._asked[rows])
        dense: Floats = self._queries[rows] @ self._documents.T
        if kind == "dense":
            return dense
        candidates = Candidates(dense, self._postings.scores(self._asked[rows]), NO_NULL)
        return ZScoreFusion().scores(candidates).astype(np.float32, copy=False)

    @cached_property
    def _postings(self) -> Postings:
        return self._lexical.over(self._texts)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
