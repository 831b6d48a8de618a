"""The fused scores, and the mean evidence for the neighbours of a candidate, by their definitions."""

import math
from statistics import fmean, pstdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import zscore

from cdesearch.context.vectors import to_unit
from cdesearch.search import fusion
from cdesearch.search.fusion import (
    COMPARED,
    FUSION,
    LEAST_SPREAD,
    MIN_NULL_SIZE,
    MIN_RATIO,
    NEAREST,
    POOL,
    RARITY,
    SAME,
    SHARPNESS,
    TEXT_WEIGHT,
    Candidates,
    EvidenceFusion,
    ZScoreFusion,
    mean_of_neighbours,
    noise_of,
)


def fuse(dense, text, null, documents=None):
    return FUSION.scores(Candidates(dense, text, null, documents, has_parts=documents is not None))


NULL = np.linspace(-0.1, 0.1, 21)


def column(n, lowest, highest):
    return arrays(np.float64, n, elements=st.floats(lowest, highest, allow_subnormal=False))


scores = st.integers(1, 130).flatmap(lambda n: st.tuples(column(n, -1, 1), column(n, 0.01, 50)))


def fused_by_the_definition(dense, text, null, documents):
    """Compute the fused scores by their definition, one candidate at a time."""
    known = [cosine for cosine in dense if not math.isnan(cosine)]
    null = null if len(null) >= MIN_NULL_SIZE else known
    constant = not null or max(null) == min(null)
    dense_z = [0.0 if constant else (cosine - fmean(null)) / pstdev(null) for cosine in dense]
    pool = (sorted((score for score in text if score > 0), reverse=True) + [0.0] * POOL)[:POOL]
    spread = max(pstdev(pool), LEAST_SPREAD * pool[0]) or 1.0
    words = [((score if score > 0 else pool[-1]) - fmean(pool)) / spread for score in text]
    if documents is not None:
        best = {name: max(e for e, d in zip(words, documents, strict=True) if d == name) for name in documents}
        words = [(own + best[name]) / 2 for own, name in zip(words, documents, strict=True)]
    best_dense = max([0.0, *(z for z in dense_z if not math.isnan(z))])
    shares = [max(word, 0.0) / max([1e-9, *words]) for word in words]
    dense_z = [
        best_dense * share if math.isnan(cosine) else z for cosine, z, share in zip(dense, dense_z, shares, strict=True)
    ]
    return [vector + TEXT_WEIGHT * word for vector, word in zip(dense_z, words, strict=True)]


cosines = st.integers(-100, 100).map(lambda hundredths: hundredths / 100)
candidates = st.lists(
    st.tuples(
        st.one_of(st.just(math.nan), cosines),
        st.one_of(st.just(math.nan), st.just(0.0), st.floats(0.01, 50)),
        st.sampled_from("abcde"),
    ),
    max_size=130,
)


@given(candidates, st.lists(cosines, max_size=20), st.booleans())
def test_the_fused_scores_follow_the_definition(drawn, null, parts):
    dense, text, documents = (list(column) for column in zip(*drawn, strict=True)) if drawn else ([], [], [])
    documents = documents if parts else None
    found = fuse(np.array(dense), np.array(text), np.array(null), documents)
    np.testing.assert_allclose(found, fused_by_the_definition(dense, text, null, documents), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("n", [POOL - 1, POOL, POOL + 1])
@pytest.mark.parametrize("n_null", [0, MIN_NULL_SIZE - 1, MIN_NULL_SIZE, MIN_NULL_SIZE + 1])
@pytest.mark.parametrize("spread", [0.01, 3.0])  # of the logarithms of the text scores
def test_the_definition_holds_at_the_limits_of_its_cases(n, n_null, spread):
    random = np.random.default_rng(n * n_null)
    dense, null = random.uniform(-1, 1, n), random.uniform(-1, 1, n_null)
    text = np.exp(random.uniform(0, spread, n))
    expected = fused_by_the_definition(dense.tolist(), text.tolist(), null.tolist(), None)
    np.testing.assert_allclose(fuse(dense, text, null), expected, rtol=1e-9)


@given(scores)
def test_better_on_both_sides_is_never_worse(pair):
    dense, text = pair
    fused = fuse(dense, text, NULL)
    better = (dense[:, None] >= dense) & (text[:, None] >= text)
    assert (fused[:, None] - fused >= -1e-6)[better].all()


def test_words_that_many_chunks_share_hardly_change_the_dense_ranking():
    dense, text = np.linspace(0.2, 0.5, 150), np.linspace(5.2, 5.0, 150)
    np.testing.assert_array_equal(np.argsort(fuse(dense, text, NULL)), np.argsort(dense))


def test_the_evidence_names_the_null_distribution_on_which_it_rests():
    found = FUSION.evidence(Candidates(np.array([0.5, 0.2]), np.array([9.0, np.nan]), NULL + 0.25))
    assert (found.null_mean, found.null_spread) == (pytest.approx(0.25), pytest.approx(pstdev(NULL)))
    nothing = FUSION.evidence(Candidates(np.empty(0), np.empty(0), np.empty(0)))
    assert (nothing.null_mean, nothing.null_spread) == (0.0, 0.0)


def test_the_noise_is_the_last_score_of_the_pool_and_lower_if_few_are_found():
    assert noise_of(np.arange(1.0, POOL + 50)) == 50
    assert noise_of(np.array([9.0, np.nan])) == pytest.approx(9.0 / MIN_RATIO / POOL**RARITY)
    assert noise_of(np.array([np.nan])) == 0


@given(st.lists(st.floats(-1, 4), min_size=1, max_size=50), st.floats(0, 1), st.floats(0.1, 50))
def test_the_only_chunk_with_a_word_is_before_all_that_are_merely_similar(others, own, score):
    """The nearest chunk is at most four standard deviations away, and this one may be at the mean."""
    dense, text = np.array([own, *others]), np.array([score, *[math.nan] * len(others)])
    fused = fuse(dense, text, np.array([-1.0, 1.0] * 10))
    assert fused[0] > fused[1:].max()


@given(st.integers(1, 4), st.integers(2, 40), st.integers(0, 1000))
def test_z_score_fusion_adds_the_z_scores_of_both_sides_of_each_query(n_queries, n, seed):
    random = np.random.default_rng(seed)
    dense, text = random.normal(0.3, 0.2, (n_queries, n)), random.uniform(1, 20, (n_queries, n))
    missing = random.random(text.shape) < 0.3
    missing[:, 0] = False  # scores that are all equal have no z-scores
    found = ZScoreFusion().scores(Candidates(dense, np.where(missing, np.nan, text), np.empty(0)))
    expected = zscore(dense, axis=1) + zscore(np.where(missing, 0.0, text), axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    of_first = ZScoreFusion().scores(Candidates(dense[0], text[0], np.empty(0)))
    np.testing.assert_allclose(of_first, zscore(dense[0]) + zscore(text[0]), atol=1e-9)


def test_the_weight_of_vectors_falls_continuously_to_its_minimum_with_the_blindness():
    dense, text = np.array([0.9, 0.1, 0.3]), np.array([1.0, 9.0, 3.0])
    found = [
        fusion.EvidenceFusion().evidence(Candidates(dense, text, NULL, blindness=share)) for share in (0.0, 0.5, 1.0)
    ]
    assert [one.dense_weight for one in found] == pytest.approx([1, (1 + fusion.BLIND_WEIGHT) / 2, fusion.BLIND_WEIGHT])
    for one in found:
        np.testing.assert_allclose(one.scores, one.dense_weight * one.dense_z + TEXT_WEIGHT * one.text)


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
