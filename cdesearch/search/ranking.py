"""The scores by which candidates are ranked: their evidence, and what is added because of files and tokens."""

from collections.abc import Sequence

import numpy as np

from cdesearch.search.code_ranking import code_lifts
from cdesearch.search.fusion import FUSION, Candidates
from cdesearch.search.interaction import interaction_lifts
from cdesearch.search.neighbours import Scores


def ranked_scores(query: str, candidates: Candidates) -> Scores:
    """The scores (n,) by which the candidates of a hybrid search are ranked."""
    fused = FUSION.scores(candidates)
    by_files, by_tokens = lifts(query, fused, candidates)
    return fused + by_files + by_tokens


def lifts(query: str, fused: Scores, candidates: Candidates) -> tuple[Scores, Scores]:
    """What is added to the fused scores (n,) of candidates because of their files, and because of their tokens."""
    by_files = code_lifts(query, fused, candidates.paths) if candidates.paths else np.zeros(len(fused))
    return by_files, interaction_lifts(fused + by_files, candidates)


def ranked_words(query: str, text: Scores, paths: Sequence[str]) -> Scores:
    """The scores (n,) by words alone, from BM25 scores (n,), NaN where full text found nothing; -inf for these."""
    scores, found = np.full(len(text), -np.inf), np.flatnonzero(~np.isnan(text))
    scores[found] = text[found] + code_lifts(query, text[found], [paths[at] for at in found.tolist()])
    return scores
