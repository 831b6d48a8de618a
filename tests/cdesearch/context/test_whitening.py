"""The statistics head compared with its formula, written with loops, and with its purpose: whitened points."""

import math
from dataclasses import replace
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdesearch.context.token_weights import TokenFrequencies, idf_weights
from cdesearch.context.vectors import to_unit
from cdesearch.context.whitening import Whitening, soft_whitening
from cdesearch.models.config import NO_STATISTICS, StatisticsConfig


def fit(points, config):
    """The shift and projection of a fitted whitening."""
    fitted = soft_whitening(points, config)
    return fitted.shift, fitted.projection


seeds = st.integers(0, 2**32 - 1)


def unit_points(n, d, seed):
    """Unit vectors whose spread differs from axis to axis, as float32."""
    random = np.random.default_rng(seed)
    points = random.standard_normal((n, d)) * np.linspace(0.2, 2, d) @ random.standard_normal((d, d)) + 0.5
    return to_unit(points.astype(np.float32))


def covariance(points):
    n, d = points.shape
    mean = [math.fsum(points[:, j].tolist()) / n for j in range(d)]
    entries = [
        [math.fsum((points[i, j] - mean[j]) * (points[i, k] - mean[k]) for i in range(n)) / n for k in range(d)]
        for j in range(d)
    ]
    return np.array(mean), np.array(entries)


def whitening_of_the_formula(points, config):
    """Shift a m and projection V diag(((w + l mean(w)) / scale) ** -p) V', from one eigenvector at a time."""
    mean, entries = covariance(points.astype(np.float64))
    values, vectors = np.linalg.eigh(entries)
    values = [max(value, 0.0) for value in values.tolist()]
    softened = [value + config.ridge * max(sum(values) / len(values), 1e-12) for value in values]
    scale = sum(softened) / len(softened)
    projection = np.zeros_like(entries)
    for place, value in enumerate(softened):
        projection += (scale / value) ** config.power * np.outer(vectors[:, place], vectors[:, place])
    return config.shift * mean, projection


configs = st.builds(StatisticsConfig, shift=st.floats(0, 1), ridge=st.floats(0.01, 30), power=st.floats(-0.5, 1))


@given(configs, st.integers(2, 12), st.integers(1, 6), seeds)
def test_whitening_is_the_formula(config, n, d, seed):
    points = unit_points(n, d, seed)
    shift, projection = fit(points, config)
    expected_shift, expected = whitening_of_the_formula(points, config)
    np.testing.assert_allclose(shift, expected_shift, atol=1e-6)
    np.testing.assert_allclose(projection, expected, rtol=1e-4, atol=1e-5)
    assert shift.dtype == projection.dtype == np.float32


@given(seeds)
def test_whitening_without_ridge_makes_the_covariance_a_multiple_of_the_identity(seed):
    points = unit_points(60, 5, seed)
    shift, projection = fit(points, StatisticsConfig(shift=1.0, ridge=0.0, power=0.5))
    mean, white = covariance((points.astype(np.float64) - shift) @ projection)
    np.testing.assert_allclose(mean, 0, atol=1e-5)
    before = np.trace(covariance(points.astype(np.float64))[1]) / 5
    np.testing.assert_allclose(white, before * np.eye(5), atol=before * 1e-3)


@pytest.mark.parametrize(("n", "config"), [(0, StatisticsConfig()), (1, StatisticsConfig()), (9, NO_STATISTICS)])
def test_fewer_than_two_points_or_a_head_that_is_off_leave_vectors_as_they_are(n, config):
    shift, projection = fit(unit_points(n, 3, 0), config)
    assert shift.dtype == projection.dtype == np.float32
    assert shift.tolist() == [0, 0, 0] and projection.tolist() == np.eye(3).tolist()


def test_equal_points_have_no_direction_to_shrink():
    points = np.repeat(unit_points(1, 3, 0), 5, axis=0)
    _, projection = fit(points, StatisticsConfig(ridge=1.0, power=0.5))
    np.testing.assert_allclose(projection, np.eye(3), atol=1e-3)


def test_points_of_fewer_dimensions_than_the_space_give_finite_numbers():
    points = np.zeros((50, 8), np.float32)
    points[:, :3] = unit_points(50, 3, 0)
    points = to_unit(points @ np.linalg.qr(np.random.default_rng(1).standard_normal((8, 8)))[0].astype(np.float32))
    assert np.isfinite(fit(points, StatisticsConfig(ridge=1e-30))[1]).all()


@given(st.integers(1, 6), st.integers(1, 5), seeds)
def test_whitened_vectors_are_unit_vectors_of_the_shifted_and_projected_ones(n, d, seed):
    random = np.random.default_rng(seed)
    vectors, shift, projection = (random.standard_normal(shape).astype(np.float32) for shape in ((n, d), d, (d, d)))
    whitened = Whitening(shift, projection).apply(vectors)
    for vector, found in zip(vectors, whitened, strict=True):
        expected = [math.fsum((vector[i] - shift[i]) * projection[i, j] for i in range(d)) for j in range(d)]
        np.testing.assert_allclose(found, np.array(expected) / math.hypot(*expected), atol=1e-3)
    assert whitened.dtype == np.float32


frequencies = st.integers(1, 12).flatmap(
    lambda size: st.tuples(
        st.integers(0, 50),
        st.lists(st.integers(0, 50), min_size=size, max_size=size),
        st.sets(st.integers(0, size - 1)),
        st.sampled_from([0.0, 0.5, 1.0, 2.0, -0.5]),
    )
)


@given(frequencies)
def test_token_weights_are_the_formula_and_special_tokens_take_the_median_of_the_others(drawn):
    n_texts, counts, special, exponent = drawn
    n_texts = max(n_texts, *counts)
    found = idf_weights(TokenFrequencies(np.array(counts), n_texts), np.array(sorted(special), np.int64), exponent)
    weights = [(math.log(1 + (n_texts - c + 0.5) / (c + 0.5)) + 0.5) ** exponent for c in counts]
    ordinary = [weights[token] for token, count in enumerate(counts) if count > 0 and token not in special]
    if ordinary:
        weights = [median(ordinary) if token in special else weight for token, weight in enumerate(weights)]
    np.testing.assert_allclose(found, weights, rtol=1e-5)
    assert found.dtype == np.float32


TYPICAL = np.linspace(-0.3, 0.3, 6)


@pytest.mark.parametrize(("n", "typical"), [(1, TYPICAL), (4, TYPICAL), (300, TYPICAL), (4, None), (300, None)])
def test_some_texts_with_a_typical_mean_or_a_mean_of_zeros_count_as_texts_of_the_corpus(n, typical):
    points, mean = unit_points(n, 6, 1), np.zeros(6) if typical is None else typical
    config = StatisticsConfig(shift=0.6, power=0.5, half_at=10)
    fitted = soft_whitening(points, config, typical)
    np.testing.assert_allclose(fitted.shift, 0.6 * (points.sum(axis=0) + 10 * mean) / (n + 10), atol=1e-6)
    weaker = replace(config, power=0.5 * n / (n + 10), half_at=0)  # the identity for one text
    np.testing.assert_allclose(fitted.projection, soft_whitening(points, weaker).projection, atol=1e-6)
