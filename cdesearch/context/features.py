"""Statistics of a corpus as a short vector, for a network that adapts to it: mean, spectrum and rarity of tokens."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.vectors import Floats, to_unit

OCTAVES = 6  # groups of eigenvalues: the first, the second, the next 2, 4, 8 and 16
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
LEAST_SHARE = 1e-4  # the lower bound of a share of the variance, so that its logarithm is finite


def corpus_features(vectors: Floats, counts: NDArray[np.int64]) -> Floats:
    """(d + CORPUS_FEATURES,) numbers of order 1, from vectors (n, d) of texts and document frequencies (V,).

    They are the mean of the unit vectors, times the square root of d; the logarithm of the total variance; the
    logarithms of the shares that groups of eigenvalues have in it; and quantiles, over the occurrences of tokens, of
    the idf relative to the highest possible idf.
    """
    points = to_unit(vectors).astype(np.float64)
    mean = points.mean(0)
    variances = np.linalg.svd(points - mean, compute_uv=False) ** 2 / len(points)
    total = variances.sum()
    bounds = [0, *(2**octave for octave in range(OCTAVES))]
    shares = [variances[start:stop].sum() / max(total, 1e-12) for start, stop in pairwise(bounds)]
    logarithms = np.log(np.maximum([total, *shares], LEAST_SHARE))
    return np.concatenate([mean * np.sqrt(len(mean)), logarithms, _rarity(counts)]).astype(np.float32)


def _rarity(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """(5,) the QUANTILES of the relative idf over the occurrences of all tokens; zeros without any token."""
    occurring = np.sort(counts[counts > 0])[::-1]
    if not len(occurring):
        return np.zeros(len(QUANTILES))
    n_texts = occurring[0]  # special tokens occur in every text
    idf = np.log1p((n_texts - occurring + 0.5) / (occurring + 0.5)) / np.log1p(2 * n_texts + 1)
    passed = np.cumsum(occurring) / occurring.sum()
    quantiles: NDArray[np.float64] = idf[np.minimum(np.searchsorted(passed, QUANTILES), len(idf) - 1)]
    return quantiles
