"""Rerank the best hits by late interaction: every token of the query is compared with every token of a chunk.

A chunk's vector is an average over its tokens, in which one telling sentence among others hardly counts. Late
interaction (ColBERT, Khattab and Zaharia, 2020, equation 3) looks for each token of the query in the chunk, and so
finds that sentence. It needs the states of all tokens of the chunks, which are computed when the query is asked. With
the same states, the passage of a chunk is chosen that is shown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cdesearch.context.context import EncodingContext
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.token_states import TokenStates
from cdesearch.store.schema import PASSAGE_LINES, Chunk, Hit

RERANKED = 20  # hits that are reranked; more take longer and gain little
# The weight of late interaction relative to the fused score, both in standard deviations over the hits. Chosen on
# four training domains and on all questions about three folders; see benchmarks/results/LOG.md.
INTERACTION_WEIGHT = 0.5


def rerank(query: str, hits: Sequence[Hit], encoder: Encoder, context: EncodingContext) -> tuple[Hit, ...]:
    """The hits of a query, the best first, by their scores and by late interaction; raises ModelError.

    The new score is the old one plus the interaction, scaled to the standard deviation of the old scores. The passage
    of each hit is that with the highest interaction.
    """
    if not hits:
        return ()
    of_query = encoder.token_states([query], "query", context)[0]
    chunks = encoder.token_states([hit.chunk.text for hit in hits], "document", context)
    interactions = np.array([interaction(of_query, states) for states in chunks])
    scores = np.array([hit.score for hit in hits])
    centred = (interactions - interactions.mean()) / max(float(interactions.std()), 1e-9)
    scores += INTERACTION_WEIGHT * float(scores.std()) * centred
    order = np.argsort(-scores, kind="stable").tolist()
    lines = [passage_line(of_query, states, hit.chunk) for hit, states in zip(hits, chunks, strict=True)]
    return tuple(
        replace(hits[i], rank=rank, score=float(scores[i]), passage_line=lines[i]) for rank, i in enumerate(order, 1)
    )


def interaction(query: TokenStates, chunk: TokenStates) -> float:
    """The highest cosine of each token of the query with a token of the chunk, averaged by the weights of the tokens.

    0 if either has no tokens.
    """
    if not len(query.weights) or not len(chunk.weights):
        return 0.0
    best = (query.vectors @ chunk.vectors.T).max(axis=1)
    return float(best @ query.weights / query.weights.sum())


def passage_line(query: TokenStates, states: TokenStates, chunk: Chunk) -> int:
    """The first of the PASSAGE_LINES lines of a chunk that have the highest interaction with the query.

    `states` are those of the text of the chunk. Lines are counted from 0 without blank lines.
    """
    cosines = query.vectors @ states.vectors.T

    def reached(start: int, end: int) -> float:
        inside = cosines[:, (states.starts >= start) & (states.starts < end)]
        return float(inside.max(axis=1, initial=-1.0) @ query.weights)

    lines = list(_filled_lines(chunk))
    windows = zip(lines, lines[PASSAGE_LINES - 1 :], strict=False)
    return int(np.argmax([reached(first[0], last[1]) for first, last in windows] or [0.0]))


def _filled_lines(chunk: Chunk) -> Iterator[tuple[int, int]]:
    """Yield the start and the end in the text of each line of the body that is not blank."""
    end = chunk.body_start - len(chunk.indent)
    for line in chunk.body.splitlines(keepends=True):
        start, end = end, end + len(line)
        if line.strip():
            yield start, end
