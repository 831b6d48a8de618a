"""Choose the best passages of a document: compare its chunks with the query token by token, and reorder them.

Which documents are hits, and at which ranks, does not change: between documents, the comparison gains nothing. The
tokens of chunks are stored, see `cdesearch.encode.token_signs`, so a query costs hardly more.
"""

import numpy as np

from cdesearch.encode.token_signs import interactions
from cdesearch.search.fusion import Candidates
from cdesearch.search.neighbours import Scores

COMPARED = 20  # candidates with the highest scores; more do not change the first hits


def interaction_lifts(scores: Scores, candidates: Candidates) -> Scores:
    """What is added to the scores (n,) so that the best chunks of each document exchange their scores; mostly 0.

    Chunks are ordered by the sum of their score and their interaction, both in standard deviations of the best.
    """
    lifts = np.zeros(len(scores))
    if candidates.query_tokens is None or candidates.tokens is None or candidates.documents is None:
        return lifts
    best = np.argsort(-scores, kind="stable")[:COMPARED]
    found = interactions(candidates.query_tokens, [candidates.tokens[at] for at in best]).astype(np.float64)
    compared, found = best[~np.isnan(found)], found[~np.isnan(found)]
    if len(found) and (spread := float(found.std())) > 1e-9:
        wanted = scores[compared] + float(scores[compared].std()) * found / spread
        documents = np.array([candidates.documents[at] for at in compared])
        for document in np.unique(documents):
            own = np.flatnonzero(documents == document)
            order = own[np.argsort(-wanted[own], kind="stable")]
            lifts[compared[order]] = scores[compared[own]] - scores[compared[order]]  # `own` has the highest first
    return lifts
