"""Decide whether passages contain enough evidence to answer a question."""

from collections.abc import Sequence

import numpy as np

from cdesearch.answer.extract import CorpusView
from cdesearch.search.passages import Passage
from cdesearch.store.schema import Hit

# Both constants were chosen on nine development corpora (area under the ROC curve .989). With them, one of 198
# questions that their corpus answers is refused, and 76% of the questions from other domains. The threshold is low,
# because refusing a good answer does more harm than a weak answer. See benchmarks/results/LOG.md.
DENSE_WEIGHT = 0.05  # multiplies the z-score of the best hit's cosine
MIN_EVIDENCE = 0.36


def is_answered(question: str, hits: Sequence[Hit], passages: Sequence[Passage], corpus: CorpusView) -> bool:
    """Return whether the passages, which were made from `hits`, probably answer the question."""
    return bool(passages) and evidence(question, hits, passages, corpus) >= MIN_EVIDENCE


def evidence(question: str, hits: Sequence[Hit], passages: Sequence[Passage], corpus: CorpusView) -> float:
    """Return the lexical plus the dense evidence that the passages answer the question.

    The lexical evidence is the share of the question's words, weighted by idf, that the best passage contains. The
    dense evidence is the z-score of the best hit's cosine relative to the context, times DENSE_WEIGHT.
    """
    words = float(corpus.coverage(question, [passage.text for passage in passages]).max())
    cosines = np.array([hit.dense_score for hit in hits if hit.dense_score is not None])
    dense = float(corpus.z(cosines, corpus.vector(question)).max()) if len(cosines) else 0.0
    return words + DENSE_WEIGHT * dense
