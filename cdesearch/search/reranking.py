"""Rerank the best hits by late interaction: every token of the query is compared with every token of a chunk.

A chunk's vector is an average over its tokens, in which one telling sentence among others hardly counts. Late
interaction (ColBERT, Khattab and Zaharia, 2020, equation 3) looks for each token of the query in the chunk, and so
finds that sentence. It needs the states of all tokens of the chunks, which are computed when the query is asked.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cdesearch.context.context import EncodingContext
from cdesearch.encode.encoder import Encoder, TokenStates
from cdesearch.store.schema import Hit

RERANKED = 20  # hits that are reranked; more take longer and gain little
# The weight of late interaction relative to the fused score, both in standard deviations over the hits. Chosen on
# four training domains and on all questions about three folders; see benchmarks/results/LOG.md.
INTERACTION_WEIGHT = 0.5


def rerank(query: str, hits: Sequence[Hit], encoder: Encoder, context: EncodingContext) -> tuple[Hit, ...]:
    """Return the hits of a query, the best first, by their scores and by late interaction; raises ModelError.

    The new score is the old one plus the interaction, scaled to the standard deviation of the old scores.
    """
    if len(hits) < 2:
        return tuple(hits)
    of_query = encoder.token_states([query], "query", context)[0]
    chunks = encoder.token_states([hit.chunk.text for hit in hits], "document", context)
    interactions = np.array([interaction(of_query, chunk) for chunk in chunks])
    scores = np.array([hit.score for hit in hits])
    centred = (interactions - interactions.mean()) / max(float(interactions.std()), 1e-9)
    scores += INTERACTION_WEIGHT * float(scores.std()) * centred
    order = np.argsort(-scores, kind="stable")
    return tuple(replace(hits[i], rank=rank, score=float(scores[i])) for rank, i in enumerate(order.tolist(), 1))


def interaction(query: TokenStates, chunk: TokenStates) -> float:
    """The highest cosine of each token of the query with a token of the chunk, averaged by the weights of the tokens.

    0 if either has no tokens.
    """
    if not len(query.weights) or not len(chunk.weights):
        return 0.0
    best = (query.vectors @ chunk.vectors.T).max(axis=1)
    return float(best @ query.weights / query.weights.sum())
