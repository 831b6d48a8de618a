import pytest

from cdesearch.search.nearest import chunks_per_part, parts_to_search


@pytest.mark.parametrize(("n_chunks", "parts"), [(0, 1), (200_000, 100), (1_600_000, 400), (10_000_000, 556)])
def test_eight_times_as_many_chunks_have_four_times_as_many_parts_searched_until_parts_are_larger(n_chunks, parts):
    assert parts_to_search(n_chunks) == parts


def test_a_larger_index_searches_more_chunks_but_a_smaller_share_of_them():
    sizes = range(200_000, 20_000_000, 600_000)
    searched = [parts_to_search(size) * chunks_per_part(size) for size in sizes]
    assert searched == sorted(searched)
    shares = [chunks / size for chunks, size in zip(searched, sizes, strict=True)]
    assert shares == sorted(shares, reverse=True)
