import pytest

from cdesearch.search.nearest import parts_to_search


@pytest.mark.parametrize(("n_chunks", "parts"), [(0, 1), (200_000, 100), (1_600_000, 400), (10_000_000, 556)])
def test_eight_times_as_many_chunks_have_four_times_as_many_parts_searched_until_parts_are_larger(n_chunks, parts):
    assert parts_to_search(n_chunks) == parts
