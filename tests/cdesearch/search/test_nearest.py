import pytest

from cdesearch.search.nearest import parts_to_search


@pytest.mark.parametrize(("n_chunks", "parts"), [(0, 1), (200_000, 100), (1_600_000, 400), (10_000_000, 1357)])
def test_eight_times_as_many_chunks_have_four_times_as_many_parts_searched(n_chunks, parts):
    assert parts_to_search(n_chunks) == parts


def test_a_larger_index_searches_more_parts_but_a_smaller_share_of_them():
    sizes = range(200_000, 20_000_000, 600_000)
    shares = [parts_to_search(size) / size for size in sizes]
    assert shares == sorted(shares, reverse=True)
    assert [parts_to_search(size) for size in sizes] == sorted(parts_to_search(size) for size in sizes)
