"""The sampled context of a corpus: which chunks, their first-stage vectors, and what the second stage derives from them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TokenFrequencies:
    """In how many of `n_texts` texts each token of the vocabulary occurs."""

    counts: NDArray[np.int64]  # (V,)
    n_texts: int


@dataclass(frozen=True, slots=True)
class Context:
    """All that the second stage knows of a corpus. Fixed when the index is built; documents and queries share it."""

    chunk_ids: tuple[str, ...]
    content_hashes: tuple[str, ...]
    seed: int
    model_fingerprint: str
    fingerprint: str  # of model, sampled texts, token frequencies and seed
    vectors: Floats  # (J, d) first-stage vectors
    keys: Floats | None  # (L, J, d) of the context rows in every layer; None where every gate is closed
    values: Floats | None  # (L, J, d)
    token_weights: Floats  # (V,) for idf pooling
    shift: Floats  # (d,) subtracted from the pooled vector
    projection: Floats  # (d, d) applied after the shift

    def save(self, path: Path) -> None:
        """Write one safetensors file, flushed to disk."""
        raise NotImplementedError

    @classmethod
    def load(cls, path: Path) -> "Context":
        """Read what `save` wrote; raises IndexDamagedError."""
        raise NotImplementedError
