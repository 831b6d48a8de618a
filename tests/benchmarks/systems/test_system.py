import numpy as np

from benchmarks.systems.system import ranked


def test_ties_go_to_the_smaller_id_and_the_querys_own_is_left_out():
    scores = np.array([0.5, 0.9, 0.5, 0.5, 0.1])
    assert ranked(["d", "q", "b", "c", "a"], scores, "q", 3) == ["b", "c", "d"]
