"""The mean evidence for the neighbours of a candidate, by its definition."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cdesearch.context.vectors import to_unit
from cdesearch.search.fusion import EvidenceFusion, Candidates
from cdesearch.search.neighbours import COMPARED, NEAREST, SAME, SHARPNESS, mean_of_neighbours


def by_the_definition(evidence, vectors, scores):
    """One candidate after another."""
    best = sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:COMPARED]
    found = list(evidence)
    for row in best:
        cosines = {other: float(vectors[row] @ vectors[other]) for other in best if vectors[other].any()}
        near = sorted(((c, other) for other, c in cosines.items() if c <= SAME), key=lambda one: -one[0])[:NEAREST]
        if vectors[row].any() and near:
            weights = [math.exp(SHARPNESS * cosine) for cosine, _ in near]
            pairs = zip(weights, near, strict=True)
            found[row] = sum(weight * evidence[other] for weight, (_, other) in pairs) / sum(weights)
    return found


@given(st.integers(0, 90), st.integers(0, 1_000))
def test_the_mean_follows_the_definition(n, seed):
    random = np.random.default_rng(seed)
    vectors = to_unit(random.standard_normal((n, 6)).astype(np.float32))
    vectors[random.random(n) < 0.1] = 0  # without a vector
    if n > 3:
        vectors[1] = vectors[0]  # the same text twice
    evidence, scores = random.standard_normal(n), random.standard_normal(n)
    found = mean_of_neighbours(evidence, vectors, scores)
    np.testing.assert_allclose(found, by_the_definition(evidence, vectors, scores), atol=1e-4)


def test_a_candidate_among_good_ones_passes_an_equal_one_that_is_alone():
    """Two candidates have the same cosine and words. The neighbours of the first are as near to the query."""
    vectors = np.eye(30, 31, dtype=np.float32)
    vectors[:10, 30] = 2
    vectors = to_unit(vectors)
    cosines = np.array([0.5] * 11 + [0.0] * 19)
    null = np.linspace(-0.2, 0.2, 40)
    without = EvidenceFusion().scores(Candidates(cosines, np.full(30, np.nan), null))
    assert without[0] == without[10]
    fused = EvidenceFusion().scores(Candidates(cosines, np.full(30, np.nan), null, vectors=vectors))
    assert fused[0] > fused[10]


def test_vectors_do_not_matter_for_candidates_that_only_words_have_found():
    text = np.array([9.0, 7.0, 5.0])
    vectors = np.zeros((3, 4), np.float32)
    candidates = Candidates(np.full(3, np.nan), text, np.empty(0))
    with_vectors = Candidates(np.full(3, np.nan), text, np.empty(0), vectors=vectors)
    np.testing.assert_array_equal(EvidenceFusion().scores(candidates), EvidenceFusion().scores(with_vectors))
