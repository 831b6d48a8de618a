import numpy as np
import pytest

from cdesearch.context.projection import Projection


@pytest.fixture
def vectors():
    generator = np.random.default_rng(3)
    spread = np.array([5, 3, 1, 0.5, 0.1])
    rotation = np.linalg.qr(generator.normal(size=(5, 5)))[0]
    return (generator.normal(size=(400, 5)) * spread @ rotation + 2).astype(np.float32)


def test_the_axes_are_the_leading_eigenvectors_of_the_covariance(vectors):
    projection = Projection.fit(vectors)
    values, directions = np.linalg.eigh(np.cov(vectors.T.astype(np.float64), bias=True))
    for axis, expected in zip(projection.axes, directions.T[::-1][:2], strict=True):
        assert abs(axis @ expected) == pytest.approx(1)
    assert projection.explained == pytest.approx(values[::-1][:2] / values.sum())
    points = projection.apply(vectors)
    assert points.mean(axis=0) == pytest.approx([0, 0], abs=1e-5)
    assert points.var(axis=0) == pytest.approx(values[::-1][:2])


def test_the_order_of_the_vectors_does_not_turn_the_map(vectors):
    first, second = (Projection.fit(order).axes for order in (vectors, vectors[::-1]))
    np.testing.assert_allclose(first, second, atol=1e-5)
    assert all(axis[np.abs(axis).argmax()] > 0 for axis in first)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_vectors_that_do_not_vary_are_points_at_the_origin(n):
    same = np.full((n, 3), 0.5, np.float32)
    projection = Projection.fit(same)
    assert projection.apply(same) == pytest.approx(np.zeros((n, 2)))
    assert projection.explained == (0, 0)
