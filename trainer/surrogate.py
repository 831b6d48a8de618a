"""What a frozen model, and BM25, think of the pairs: for clustering, for the filter, as teacher."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

from cdesearch.context import Floats
from cdesearch.encoder import Encoder, Role

SHARD = 2048  # texts between two flushes
K1, B = 0.9, 0.4


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
        state.write_text(json.dumps(start + len(shard)), encoding="utf-8")
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

    def scores(self, queries: Sequence[str], documents: Sequence[str]) -> Floats:
        """(Q, D) BM25 of a batch."""
        table = np.zeros((len(queries), len(documents)), np.float32)
        postings: dict[str, list[tuple[int, float]]] = {}
        for place, document in enumerate(documents):
            words = _words(document)
            norm = K1 * (1 - B + B * len(words) / self.mean_length)
            for word, count in Counter(words).items():
                weight = self.idf.get(word, self.unseen) * count * (K1 + 1) / (count + norm)
                postings.setdefault(word, []).append((place, weight))
        for row, query in enumerate(queries):
            for word in set(_words(query)):
                for place, weight in postings.get(word, ()):
                    table[row, place] += weight
        return table


def fused(dense: Floats, text: Floats) -> Floats:
    """(Q, D) sum of both sides' z-scores over each query's documents."""
    return _z(dense) + _z(text)


def _z(scores: Floats) -> Floats:
    spread = scores.std(axis=1, keepdims=True)
    z: Floats = (scores - scores.mean(axis=1, keepdims=True)) / np.maximum(spread, 1e-6)
    return z


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
