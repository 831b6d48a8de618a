"""Token weights for pooling: the rarer a token is in the corpus, the more it counts in a text's vector."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats


@dataclass(frozen=True, slots=True)
class TokenFrequencies:
    """In how many of `n_texts` texts each token of the vocabulary occurs."""

    counts: NDArray[np.int64]  # (V,)
    n_texts: int

    def __add__(self, other: "TokenFrequencies") -> "TokenFrequencies":
        return TokenFrequencies(self.counts + other.counts, self.n_texts + other.n_texts)


def idf_weights(frequencies: TokenFrequencies, special: NDArray[np.int64], exponent: float) -> Floats:
    """(V,) weights (idf + 0.5) ** exponent for pooling; special tokens take the median of the tokens that occur."""
    counts = frequencies.counts.astype(np.float64)
    idf = np.log(1 + (frequencies.n_texts - counts + 0.5) / (counts + 0.5))
    weights = (idf + 0.5) ** exponent
    occurring = np.setdiff1d(np.flatnonzero(counts), special)
    if len(occurring):
        weights[special] = np.median(weights[occurring])
    return weights.astype(np.float32)
