"""The final scores of candidates: the fused evidence, the lifts of code, and late interaction."""

import numpy as np

from cdesearch.search.code_ranking import code_lifts
from cdesearch.search.fusion import FUSION, Candidates
from cdesearch.search.interaction import interaction_lifts
from cdesearch.search.neighbours import Scores


def ranked_scores(query: str, candidates: Candidates) -> Scores:
    """The scores (n,) by which the candidates of a hybrid search are ranked."""
    scores = FUSION.scores(candidates)
    if candidates.paths is not None:
        scores = scores + code_lifts(query, scores, candidates.paths)
    return scores + interaction_lifts(scores, candidates)


def ranked_words(query: str, candidates: Candidates) -> Scores:
    """The scores (n,) by which candidates are ranked by words alone; -inf for those that full text did not find."""
    scores, found = np.full(len(candidates.text), -np.inf), ~np.isnan(candidates.text)
    own = candidates.text[found]
    paths = [path for path, is_found in zip(candidates.paths or [], found, strict=False) if is_found]
    scores[found] = own + code_lifts(query, own, paths) if paths else own
    return scores
