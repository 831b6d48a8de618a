import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cdesearch.fusion import fuse

scores = st.integers(1, 30).flatmap(
    lambda n: st.tuples(*[arrays(np.float64, n, elements=st.floats(-5, 5, allow_subnormal=False)) for _ in range(2)])
)


@given(scores, st.randoms())
def test_order_of_candidates_does_not_matter(pair, random):
    dense, text = pair
    order = list(range(len(dense)))
    random.shuffle(order)
    np.testing.assert_allclose(fuse(dense, text)[order], fuse(dense[order], text[order]), atol=1e-6)


@given(scores)
def test_better_on_both_sides_is_never_worse(pair):
    dense, text = pair
    fused = fuse(dense, text)
    better = (dense[:, None] >= dense) & (text[:, None] >= text)
    assert (fused[:, None] - fused >= -1e-6)[better].all()


def test_missing_text_scores_count_as_zero():
    dense = np.array([0.5, 0.5, 0.5])
    fused = fuse(dense, np.array([4.0, np.nan, 2.0]))
    assert fused[0] > fused[2] > fused[1]


def test_a_silent_side_says_nothing():
    assert fuse(np.array([0.3]), np.array([np.nan])).tolist() == [0.0]
    np.testing.assert_array_equal(np.argsort(fuse(np.array([0.1, 0.9]), np.array([np.nan, np.nan]))), [0, 1])
