"""Whether passages hold enough evidence to answer a question."""

from collections.abc import Sequence

import numpy as np

from cdesearch.answer.extract import CorpusView
from cdesearch.search.passages import Passage
from cdesearch.store.schema import Hit

# Chosen on nine corpora of the training side (area under the ROC curve .989): one of 198 questions that their corpus
# answers is refused, and 76% of the questions of other domains. A wrong refusal costs more than a weak answer.
# See benchmarks/results/LOG.md.
DENSE_WEIGHT = 0.05  # of the best hit's cosine, in standard deviations of the question's cosines with the context
MIN_EVIDENCE = 0.36


def is_answered(question: str, hits: Sequence[Hit], passages: Sequence[Passage], corpus: CorpusView) -> bool:
    """Whether an answer can be expected from the passages that were made of `hits`."""
    return bool(passages) and evidence(question, hits, passages, corpus) >= MIN_EVIDENCE


def evidence(question: str, hits: Sequence[Hit], passages: Sequence[Passage], corpus: CorpusView) -> float:
    """The share of the question's words, weighted by idf, in the passage with most of them, plus dense evidence."""
    words = float(corpus.coverage(question, [passage.text for passage in passages]).max())
    cosines = np.array([hit.dense_score for hit in hits if hit.dense_score is not None])
    dense = float(corpus.z(cosines, corpus.vector(question)).max()) if len(cosines) else 0.0
    return words + DENSE_WEIGHT * dense
