import numpy as np
import pytest

from cdesearch.evaluation.questions import Question
from cdesearch.evaluation.ranking import Asked
from cdesearch.evaluation.tuning import FACTORS, choose_weight
from cdesearch.search.fusion import TEXT_WEIGHT, Candidates


def asked(rng, *, is_lexical, n=30):
    """A question whose answer has the best BM25 score, or the best cosine; the other side prefers another chunk."""
    null = rng.normal(0, 0.1, 64)
    dense, text = rng.normal(0, 0.1, n), rng.uniform(1, 2, n)
    good, other = (dense, text)[:: -1 if is_lexical else 1]
    good[0], other[1] = (0.4, 8.0) if not is_lexical else (8.0, 0.4)
    rows = np.arange(n, dtype=np.uint64)
    return Asked(Question("", "", frozenset()), np.zeros(2), rows, Candidates(dense, text, null), rows[:1])


@pytest.mark.parametrize("is_lexical", [False, True])
def test_the_weight_follows_questions_that_only_one_side_answers(is_lexical):
    rng = np.random.default_rng(0)
    found = choose_weight([asked(rng, is_lexical=is_lexical) for _ in range(60)], TEXT_WEIGHT)
    reached = dict(zip(found.weights, found.means, strict=True))
    assert reached[found.best] >= reached[TEXT_WEIGHT]
    assert (found.best >= TEXT_WEIGHT) if is_lexical else (found.best < TEXT_WEIGHT and found.is_significant)
    assert min(FACTORS) * TEXT_WEIGHT <= found.best <= max(FACTORS) * TEXT_WEIGHT


def test_questions_that_every_weight_answers_change_nothing():
    rng = np.random.default_rng(0)
    easy = [asked(rng, is_lexical=False) for _ in range(40)]
    for one in easy:
        one.candidates.text[0] = 20.0
    found = choose_weight(easy, TEXT_WEIGHT)
    assert found.best == TEXT_WEIGHT and not found.is_significant
