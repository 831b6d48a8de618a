import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cdesearch.fusion import fuse

NULL = np.linspace(-0.1, 0.1, 21)


def column(n, lowest, highest):
    return arrays(np.float64, n, elements=st.floats(lowest, highest, allow_subnormal=False))


scores = st.integers(1, 130).flatmap(lambda n: st.tuples(column(n, -1, 1), column(n, 0.01, 50)))


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


def test_what_text_did_not_find_has_no_text_evidence():
    fused = fuse(np.array([0.5, 0.5, 0.5]), np.array([4.0, np.nan, 2.0]), NULL)
    assert fused[0] > fused[2] > fused[1]


def test_the_only_chunk_with_a_rare_word_comes_first():
    dense = np.array([0.3, 0.2, 0.1])
    assert fuse(dense, np.array([np.nan, np.nan, 9.0]), NULL).argmax() == 2


def test_words_that_are_everywhere_leave_the_ranking_to_the_vectors():
    dense, text = np.linspace(0.2, 0.5, 150), np.linspace(5.2, 5.0, 150)
    np.testing.assert_array_equal(np.argsort(fuse(dense, text, NULL)), np.argsort(dense))


def test_words_count_less_the_further_the_best_vector_stands_out():
    def bonus(best):
        dense, text = np.array([best, 0.1, 0.1]), np.array([np.nan, 6.0, 3.0])
        fused = fuse(dense, text, NULL)
        return fused[1] - fuse(dense, np.full(3, np.nan), NULL)[1]

    assert bonus(0.3) > bonus(0.6) > bonus(0.9) > 0


def test_a_chunk_shares_half_of_the_text_evidence_of_its_document():
    dense, text = np.full(4, 0.2), np.array([9.0, np.nan, np.nan, 3.0])
    alone = fuse(dense, text, NULL, ["a", "b", "c", "d"])
    shared = fuse(dense, text, NULL, ["a", "a", "c", "d"])
    np.testing.assert_allclose(shared[1] - alone[1], (alone[0] - alone[1]) / 2)
    np.testing.assert_array_equal(shared[[0, 2, 3]], alone[[0, 2, 3]])


def test_text_counts_for_half_where_chunks_are_parts_of_documents():
    dense, text = np.full(3, 0.2), np.array([9.0, np.nan, 3.0])
    silent = fuse(dense, np.full(3, np.nan), NULL)
    whole, part = fuse(dense, text, NULL) - silent, fuse(dense, text, NULL, ["a", "b", "c"]) - silent
    np.testing.assert_allclose(part, whole / 2)


def test_a_silent_side_says_nothing():
    assert fuse(np.array([0.3]), np.array([np.nan]), np.array([0.1])).tolist() == [0.0]
    np.testing.assert_array_equal(np.argsort(fuse(np.array([0.1, 0.9]), np.array([np.nan, np.nan]), NULL)), [0, 1])


def test_a_context_of_one_chunk_does_not_silence_the_vectors():
    dense = np.array([0.1, 0.9, 0.4])
    np.testing.assert_array_equal(np.argsort(fuse(dense, np.full(3, np.nan), np.array([0.2]))), np.argsort(dense))
