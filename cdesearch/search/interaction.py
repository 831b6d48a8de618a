"""Compare the best candidates of a hybrid search with the query token by token, and change their scores by the result.

The tokens of chunks are stored, see `cdesearch.encode.token_signs`, so a query costs hardly more.
"""

import numpy as np

from cdesearch.encode.token_signs import interactions
from cdesearch.search.fusion import Candidates
from cdesearch.search.neighbours import Scores

COMPARED = 20  # candidates with the highest scores; more do not change the first hits
# Of a standard deviation of the interactions, relative to one of the scores. Chosen on half of the questions about
# folders and on domains; see benchmarks/results/LOG.md.
WEIGHT = 0.5


def interaction_lifts(scores: Scores, candidates: Candidates) -> Scores:
    """What is added to the scores (n,), which may be negative; 0 for candidates that are not compared."""
    lifts = np.zeros(len(scores))
    if candidates.query_tokens is None or candidates.tokens is None:
        return lifts
    best = np.argsort(-scores, kind="stable")[:COMPARED]
    found = interactions(candidates.query_tokens, [candidates.tokens[at] for at in best]).astype(np.float64)
    is_known = ~np.isnan(found)
    known, spread = best[is_known], float(found[is_known].std()) if is_known.any() else 0.0
    if spread > 1e-9:
        centred = (found[is_known] - found[is_known].mean()) / spread
        lifts[known] = WEIGHT * float(scores[known].std()) * centred
    return lifts
