import math
from statistics import fmean, pstdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import zscore

from cdesearch.search import fusion
from cdesearch.search.fusion import (
    DEFAULT_FUSION,
    FUSIONS,
    MIN_DENSE_Z,
    MIN_NULL_SIZE,
    MIN_RATIO,
    NOISE_RANK,
    OVERSAMPLE,
    RARITY,
    TEXT_WEIGHT,
    Candidates,
)


def fuse(dense, text, null, documents=None):
    return FUSIONS[DEFAULT_FUSION].scores(Candidates(dense, text, null, documents))


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
    highest_first = sorted((score for score in text if score > 0), reverse=True)
    noise = math.inf
    if len(highest_first) >= NOISE_RANK:
        noise = highest_first[NOISE_RANK - 1]
    elif highest_first:
        noise = min(highest_first[-1], highest_first[0] / MIN_RATIO) * (len(highest_first) / NOISE_RANK) ** RARITY
    evidence = [math.log(score / noise) if score > noise else 0.0 for score in text]
    if documents is not None:
        best = {name: max(e for e, d in zip(evidence, documents, strict=True) if d == name) for name in documents}
        evidence = [(own + best[name]) / 2 for own, name in zip(evidence, documents, strict=True)]
    best_dense = max([MIN_DENSE_Z, *(z for z in dense_z if not math.isnan(z))])
    best_text = max(evidence, default=0.0)
    shares = [words / best_text if best_text else 0.0 for words in evidence]
    dense_z = [
        best_dense * share if math.isnan(cosine) else z for cosine, z, share in zip(dense, dense_z, shares, strict=True)
    ]
    query_weight = best_text / best_dense
    return [vector + TEXT_WEIGHT * query_weight * words for vector, words in zip(dense_z, evidence, strict=True)]


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


@pytest.mark.parametrize("n", [NOISE_RANK - 1, NOISE_RANK, NOISE_RANK + 1])
@pytest.mark.parametrize("n_null", [0, MIN_NULL_SIZE - 1, MIN_NULL_SIZE, MIN_NULL_SIZE + 1])
@pytest.mark.parametrize("spread", [0.5, 3.0])  # of the logarithms of the text scores
def test_the_definition_holds_at_the_limits_of_its_cases(n, n_null, spread):
    random = np.random.default_rng(n * n_null)
    dense, null = random.uniform(-1, 1, n), random.uniform(-1, 1, n_null)
    text = np.exp(random.uniform(0, spread, n))
    expected = fused_by_the_definition(dense.tolist(), text.tolist(), null.tolist(), None)
    np.testing.assert_allclose(fuse(dense, text, null), expected, rtol=1e-9)


@pytest.mark.parametrize("best", [0.2, 1.0, 5.0])
def test_the_best_dense_z_counts_as_at_least_the_minimum(best, monkeypatch):
    """A best dense z-score above the constant lowers the weight of text, and one below it does not raise it."""
    monkeypatch.setattr(fusion, "MIN_DENSE_Z", 0.5)
    null = np.array([-1.0, 1.0] * 10)
    fused = fuse(np.array([best, -1.0]), np.array([math.nan, 3.0]), null)
    evidence = math.log(MIN_RATIO * NOISE_RANK**RARITY)
    np.testing.assert_allclose(fused, [best, -1.0 + TEXT_WEIGHT * evidence**2 / max(0.5, best)])


@given(scores, st.randoms())
def test_order_of_candidates_does_not_matter(pair, random):
    dense, text = pair
    order = list(range(len(dense)))
    random.shuffle(order)
    np.testing.assert_allclose(fuse(dense, text, NULL)[order], fuse(dense[order], text[order], NULL), atol=1e-6)


@given(scores)
def test_better_on_both_sides_is_never_worse(pair):
    dense, text = pair
    fused = fuse(dense, text, NULL)
    better = (dense[:, None] >= dense) & (text[:, None] >= text)
    assert (fused[:, None] - fused >= -1e-6)[better].all()


@pytest.mark.parametrize("name", sorted(FUSIONS))
def test_candidates_without_vectors_are_ranked_by_words(name):
    text = np.array([3.0, 9.0, 1.0, 6.0])
    found = FUSIONS[name].scores(Candidates(np.full(4, np.nan), text, NULL))
    np.testing.assert_array_equal(np.argsort(-found), np.argsort(-text))


def test_a_candidate_without_a_vector_keeps_its_place_among_those_whose_vectors_agree_with_their_words():
    text = np.array([27.0, 9.0, 3.0, 1.0])
    dense = np.array([0.4, 0.3, 0.2, 0.1])
    for without in range(4):
        part = np.where(np.arange(4) == without, np.nan, dense)
        assert np.argsort(-fuse(part, text, NULL)).tolist() == [0, 1, 2, 3]


def test_a_candidate_that_text_did_not_find_has_no_text_evidence():
    fused = fuse(np.array([0.5, 0.5, 0.5]), np.array([4.0, np.nan, 2.0]), NULL)
    assert fused[0] > fused[2] > fused[1]


def test_the_only_chunk_with_a_rare_word_comes_first():
    dense = np.array([0.25, 0.2, 0.1])
    assert fuse(dense, np.array([np.nan, np.nan, 9.0]), NULL).argmax() == 2


def test_words_that_many_chunks_share_do_not_change_the_dense_ranking():
    dense, text = np.linspace(0.2, 0.5, 150), np.linspace(5.2, 5.0, 150)
    np.testing.assert_array_equal(np.argsort(fuse(dense, text, NULL)), np.argsort(dense))


def test_text_counts_less_the_higher_the_best_dense_z_is():
    def bonus(best):
        dense, text = np.array([best, 0.1, 0.1]), np.array([np.nan, 6.0, 3.0])
        fused = fuse(dense, text, NULL)
        return fused[1] - fuse(dense, np.full(3, np.nan), NULL)[1]

    assert bonus(0.3) > bonus(0.6) > bonus(0.9) > 0


def test_half_of_the_text_evidence_is_that_of_the_document():
    dense, text = np.full(4, 0.2), np.array([9.0, np.nan, np.nan, 3.0])
    alone = fuse(dense, text, NULL, ["a", "b", "c", "d"])
    shared = fuse(dense, text, NULL, ["a", "a", "c", "d"])
    np.testing.assert_allclose(shared[1] - alone[1], (alone[0] - alone[1]) / 2)
    np.testing.assert_array_equal(shared[[0, 2, 3]], alone[[0, 2, 3]])


def test_the_evidence_names_the_null_distribution_and_the_noise_on_which_it_rests():
    method = FUSIONS["evidence"]
    found = method.evidence(Candidates(np.array([0.5, 0.2]), np.array([9.0, np.nan]), NULL + 0.25))
    assert (found.null_mean, found.null_spread) == (pytest.approx(0.25), pytest.approx(pstdev(NULL)))
    assert found.noise == pytest.approx(9.0 / MIN_RATIO / NOISE_RANK**RARITY)
    nothing = method.evidence(Candidates(np.empty(0), np.empty(0), np.empty(0)))
    assert (nothing.null_mean, nothing.null_spread, nothing.noise) == (0.0, 0.0, 0.0)


@given(st.lists(st.floats(-1, 4), min_size=1, max_size=50), st.floats(-1, 1), st.floats(0.1, 50))
def test_the_only_chunk_with_a_word_is_before_all_that_are_merely_similar(others, own, score):
    """The nearest chunk is at most four standard deviations away, and this one may be anywhere in the distribution."""
    dense, text = np.array([own, *others]), np.array([score, *[math.nan] * len(others)])
    fused = fuse(dense, text, np.array([-1.0, 1.0] * 10))
    assert fused[0] > fused[1:].max()


def test_a_side_without_evidence_does_not_change_the_ranking():
    assert fuse(np.array([0.3]), np.array([np.nan]), np.array([0.1])).tolist() == [0.0]
    np.testing.assert_array_equal(np.argsort(fuse(np.array([0.1, 0.9]), np.array([np.nan, np.nan]), NULL)), [0, 1])


def test_a_context_of_one_chunk_still_ranks_by_the_vectors():
    dense = np.array([0.1, 0.9, 0.4])
    np.testing.assert_array_equal(np.argsort(fuse(dense, np.full(3, np.nan), np.array([0.2]))), np.argsort(dense))


@given(st.integers(1, 4), st.integers(2, 40), st.integers(0, 1000))
def test_z_score_fusion_adds_the_z_scores_of_both_sides_of_each_query(n_queries, n, seed):
    random = np.random.default_rng(seed)
    dense, text = random.normal(0.3, 0.2, (n_queries, n)), random.uniform(1, 20, (n_queries, n))
    missing = random.random(text.shape) < 0.3
    missing[:, 0] = False  # scores that are all equal have no z-scores
    found = FUSIONS["z-score"].scores(Candidates(dense, np.where(missing, np.nan, text), np.empty(0)))
    expected = zscore(dense, axis=1) + zscore(np.where(missing, 0.0, text), axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    of_first = FUSIONS["z-score"].scores(Candidates(dense[0], text[0], np.empty(0)))
    np.testing.assert_allclose(of_first, zscore(dense[0]) + zscore(text[0]), atol=1e-9)


def test_a_side_of_equal_scores_adds_nothing_to_the_z_scores():
    dense, none = np.array([0.1, 0.2, 0.6]), np.full(3, np.nan)
    np.testing.assert_allclose(FUSIONS["z-score"].scores(Candidates(dense, none, np.empty(0))), zscore(dense))
    np.testing.assert_array_equal(
        FUSIONS["z-score"].scores(Candidates(np.full(3, 0.25), none, np.empty(0))), np.zeros(3)
    )


def test_scores_that_differ_by_a_rounding_error_have_small_z_scores():
    dense = np.array([0.5, 0.5 + 1e-9])
    found = FUSIONS["z-score"].scores(Candidates(dense, np.full(2, np.nan), np.empty(0)))
    np.testing.assert_allclose(found, (dense - dense.mean()) / 1e-6)


@pytest.mark.parametrize("k", [1, NOISE_RANK - 1, NOISE_RANK, NOISE_RANK + 1, 1000])
def test_a_fusion_requests_as_many_candidates_as_its_scores_need(k):
    evidence, z_score = FUSIONS["evidence"], FUSIONS["z-score"]
    assert evidence.dense_depth(k) == OVERSAMPLE * k
    assert evidence.text_depth(k) == z_score.dense_depth(k) == z_score.text_depth(k) == (k if k > 100 else 100)


def test_the_weight_of_vectors_falls_continuously_to_its_minimum_with_the_blindness():
    dense, text = np.array([0.9, 0.1, 0.3]), np.array([1.0, 9.0, 3.0])
    found = [
        fusion.EvidenceFusion().evidence(Candidates(dense, text, NULL, blindness=share)) for share in (0.0, 0.5, 1.0)
    ]
    assert [one.dense_weight for one in found] == pytest.approx([1, (1 + fusion.BLIND_WEIGHT) / 2, fusion.BLIND_WEIGHT])
    for one in found:
        np.testing.assert_allclose(one.scores, one.dense_weight * one.dense_z + one.text_weight * one.text)
