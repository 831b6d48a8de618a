"""Choose the sentences of passages that answer a question best, without a language model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdesearch.answer.candidates import Candidate, candidates_of
from cdesearch.context.context import Context
from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder
from cdesearch.search.passages import Passage

Scores = NDArray[np.floating[Any]]

MAX_SENTENCES = 5
MAX_COSINE = 0.85  # of two sentences of an answer: a higher one means that they say the same
# Chosen on development data, see benchmarks/results/LOG.md.
WORDS_WEIGHT = 1.0  # of the share of the question's words, in standard deviations of the cosine
PASSAGE_WEIGHT = 2.0  # of the score of the passage, divided by that of the best passage
MARGIN = 2.0  # a sentence that is so much worse than the best one is left out
# Words of which English questions are made. They are rare in many documents, so that their idf is too high.
_QUESTION_WORDS = """
    a about an and any are as at be been but by can could did do does explain find for from get give had has have how
    i if in into is it its know like list make many may me mean much my need not of on or our please s should show so
    some tell than that the their them there these they this those to us use used using was we were what when where
    which who whom whose why will with would you your
"""
QUESTION_WORDS = frozenset(_QUESTION_WORDS.split())


@dataclass(frozen=True, slots=True)
class CorpusView:
    """What a question is compared with: a model and the context of an index."""

    encoder: Encoder
    context: Context

    def vector(self, question: str) -> Floats:
        """(d,) the vector of the question."""
        vector: Floats = self.encoder.encode([question], "query", self.context)[0]
        return vector

    def z(self, cosines: Scores, vector: Floats) -> Scores:
        """Cosines with the question's vector, in standard deviations from those of the chunks of the context."""
        null = self.context.sample_vectors @ vector
        z: Scores = (cosines - null.mean()) / max(float(null.std()), 1e-6)
        return z

    def tokens(self, text: str) -> NDArray[np.int64]:
        """The different tokens of a text."""
        return np.unique(np.array(self.encoder.tokenizer.encode(text, add_special_tokens=False).ids, np.int64))

    def idf(self, tokens: NDArray[np.int64]) -> Scores:
        """The idf of tokens in the corpus; equal numbers if the model does not weight tokens."""
        exponent = self.encoder.config.statistics.idf_exponent
        weights = self.context.inputs.token_weights[tokens].astype(np.float64)
        return np.ones(len(tokens)) if exponent == 0 else np.maximum(weights ** (1 / exponent) - 0.5, 0)

    def coverage(self, question: str, texts: Sequence[str]) -> Scores:
        """(n,) the share of the question's tokens, weighted by idf, that each text contains."""
        asked = self.tokens(" ".join(_content_words(question)) or question)
        idf = self.idf(asked)
        total = max(float(idf.sum()), 1e-9)
        return np.array([float(idf[np.isin(asked, self.tokens(text))].sum()) / total for text in texts])


def _content_words(question: str) -> list[str]:
    return [word for word in re.findall(r"\w+", question.lower()) if word not in QUESTION_WORDS]


def extract(question: str, passages: Sequence[Passage], corpus: CorpusView) -> list[Candidate]:
    """At most MAX_SENTENCES sentences, those of the best passage first, and in the order of the text within each."""
    candidates = candidates_of(passages)
    if not candidates:
        return []
    vector = corpus.vector(question)
    vectors = corpus.encoder.encode([one.text for one in candidates], "document", corpus.context)
    scores = corpus.z(vectors @ vector, vector)
    scores = scores + WORDS_WEIGHT * corpus.coverage(question, [one.text for one in candidates])
    best = max(1e-6, *(passage.score for passage in passages))
    scores = scores + PASSAGE_WEIGHT * np.array([passages[one.passage].score / best for one in candidates])
    chosen = _different(scores, vectors)
    order: dict[int, int] = {}
    for row in chosen:
        order.setdefault(candidates[row].passage, len(order))
    return sorted((candidates[row] for row in chosen), key=lambda one: (order[one.passage], one.position))


def _different(scores: Scores, vectors: Floats) -> list[int]:
    """Rows of the best scores; of rows that say the same only the best."""
    chosen: list[int] = []
    for row in np.argsort(-scores, kind="stable").tolist():
        if scores[row] < scores.max() - MARGIN:
            break
        if all(float(vectors[row] @ vectors[other]) <= MAX_COSINE for other in chosen):
            chosen.append(row)
        if len(chosen) == MAX_SENTENCES:
            break
    return chosen
