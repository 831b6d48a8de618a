"""Late interaction: each token of a query is compared with the tokens of a chunk, which are stored as a few signs.

A chunk's vector is an average over its tokens, in which one telling sentence among others hardly counts. Late
interaction (ColBERT, Khattab and Zaharia, 2020, equation 3) looks for each token of the query in the chunk, and so
finds that sentence. A token is stored as the signs of random projections of its state (Charikar, 2002), and only the
half of the tokens with the highest weights is stored: 4 bytes for every second token find passages as well as all
states do, see benchmarks/results/LOG.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import shake_256

import numpy as np

from cdesearch.context.vectors import Floats, to_unit

SIGNS = 32  # of a token
N_BYTES = SIGNS // 8


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """The n tokens of a query, without special tokens."""

    projections: Floats  # (n, SIGNS) of their states, of length 1
    weights: Floats  # (n,) by their idf, with the sum 1


def signs_of(projections: Floats, weights: Floats) -> list[bytes]:
    """The stored tokens of B texts: for each text N_BYTES a token, in the order of the text.

    `projections` are (B, S, T, SIGNS). `weights` (B, S, T) of the tokens are 0 for padding and special tokens, which
    are left out, and so are tokens with less than the median weight of their text.
    """
    packed = np.packbits(projections > 0, axis=-1)
    kept = (row > 0 if not row.any() else row >= np.median(row[row > 0]) for row in weights)
    return [signs[is_kept].tobytes() for signs, is_kept in zip(packed, kept, strict=True)]


def query_tokens(projections: Floats, weights: Floats) -> QueryTokens:
    """The tokens of one query, from its projections (S, T, SIGNS) and weights (S, T), which are 0 for other tokens."""
    own = weights[weights > 0]
    return QueryTokens(to_unit(projections[weights > 0]), own / max(float(own.sum()), 1e-9))


def interactions(query: QueryTokens, stored: Sequence[bytes]) -> Floats:
    """(n,) the highest cosine of each token of a query with a token of a chunk, averaged by the weights of the tokens.

    NaN for a chunk without tokens, and for all chunks if the query has none.
    """
    found = np.full(len(stored), np.nan, np.float32)
    lengths = np.array([len(one) // N_BYTES for one in stored])
    known = np.flatnonzero(lengths)
    if not len(known) or not len(query.weights):
        return found
    bits = np.unpackbits(np.frombuffer(b"".join(stored), np.uint8).reshape(-1, N_BYTES), axis=-1)
    cosines = (bits.astype(np.float32) * 2 - 1) @ query.projections.T / SIGNS**0.5  # (tokens of all chunks, n)
    starts = np.cumsum(lengths[known]) - lengths[known]
    found[known] = np.maximum.reduceat(cosines, starts, axis=0) @ query.weights
    return found


@cache
def projection(dimension: int) -> Floats:
    """(dimension, SIGNS) random signs, the same everywhere, with which the states of tokens are multiplied."""
    digest = shake_256(b"token signs").digest(dimension * N_BYTES)
    bits = np.unpackbits(np.frombuffer(digest, np.uint8)).reshape(dimension, SIGNS)
    return bits.astype(np.float32) * 2 - 1
