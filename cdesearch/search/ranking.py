"""The scores by which candidates are ranked: their evidence, and what is added because of files and tokens.

The best passages of a document are chosen by comparing its chunks with the query token by token. Which documents are
hits, and at which ranks, does not change: between documents, the comparison gains nothing. The tokens of chunks are
stored, see `cdesearch.encode.token_signs`, so a query costs hardly more.
"""

from collections.abc import Sequence

import numpy as np

from cdesearch.encode.token_signs import interactions
from cdesearch.search.code_ranking import code_lifts
from cdesearch.search.exact import ExactTerm
from cdesearch.search.fusion import FUSION, Candidates, Scores

NAME_WORDS = 6  # of a file; a longer query is no name
COMPARED = 20  # candidates with the highest scores; more do not change the first hits


def ranked_scores(query: str, candidates: Candidates) -> Scores:
    """The scores (n,) by which the candidates of a hybrid search are ranked."""
    fused = FUSION.scores(candidates)
    by_files, by_tokens = lifts(query, fused, candidates)
    return fused + by_files + by_tokens


def lifts(query: str, fused: Scores, candidates: Candidates) -> tuple[Scores, Scores]:
    """What is added to the fused scores (n,) of candidates because of their files, and because of their tokens."""
    by_files = file_lifts(query, fused, candidates.paths) if candidates.paths else np.zeros(len(fused))
    return by_files, interaction_lifts(fused + by_files, candidates)


def ranked_words(query: str, text: Scores, paths: Sequence[str]) -> Scores:
    """The scores (n,) by words alone, from BM25 scores (n,), NaN where full text found nothing; -inf for these."""
    scores, found = np.full(len(text), -np.inf), np.flatnonzero(~np.isnan(text))
    scores[found] = text[found] + file_lifts(query, text[found], [paths[at] for at in found.tolist()])
    return scores


def file_lifts(query: str, scores: Scores, paths: Sequence[str]) -> Scores:
    """What is added to scores (n,): for code, and for the best chunk of each file whose name is the whole query.

    Such a chunk is before all others, also if the file has so many chunks that their BM25 scores do not stand out.
    """
    added = code_lifts(query, scores, paths)
    name, lifted = ExactTerm(query.strip()), scores + added
    best: dict[str, int] = {}
    may_name_file = not name.text.isalnum() and len(query.split()) <= NAME_WORDS
    for at in np.argsort(-lifted, kind="stable").tolist() if may_name_file else ():
        if name.is_name_of(paths[at]):
            best.setdefault(paths[at], at)
    if best:
        added[[*best.values()]] += lifted.max() - lifted[[*best.values()]].min() + 1
    return added


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
