import numpy as np
import pytest

from benchmarks.speed.resembling import Resembling
from cdesearch.context.vectors import to_unit

pytest.importorskip("faiss")


@pytest.fixture
def groups():
    """Twenty vectors around each of fifty centres (1000, 16), in the order of the centres."""
    random = np.random.default_rng(0)
    centres = to_unit(random.standard_normal((50, 16), np.float32))
    return to_unit(np.repeat(centres, 20, 0) + 0.05 * random.standard_normal((1_000, 16), np.float32))


def test_drawn_vectors_lie_between_neighbours(groups):
    drawn = Resembling(groups).draw(500, np.random.default_rng(1))
    assert np.allclose(np.linalg.norm(drawn, axis=1), 1, atol=1e-3)
    assert (drawn @ groups.T).max(axis=1).min() > 0.95
    assert len(np.unique(drawn.round(4), axis=0)) == 500


def test_equal_vectors_are_neighbours_of_each_other():
    one = to_unit(np.ones((1, 8), np.float32))
    drawn = Resembling(np.repeat(one, 30, 0)).draw(5, np.random.default_rng(0))
    assert np.allclose(drawn, one, atol=1e-3)
