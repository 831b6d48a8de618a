"""Hits are grouped by document."""

from dataclasses import replace

from cdesearch.cli.hits.grouping import group_hits, search_for_groups, with_other_files, without_unlikely
from cdesearch.search.request import SearchRequest
from cdesearch.search.result import SearchResult
from cdesearch.store.schema import Chunk, Hit


def hit(rank, path, text, line=1):
    chunk = Chunk(f"{rank}", path, None, 0, path, "", (), text, 0, line, line, None)
    return Hit(rank, 10 - rank, chunk, None, None)


def test_the_hits_of_a_document_are_grouped_under_the_best():
    hits = [hit(1, "a", "one"), hit(2, "b", "two"), hit(3, "a", "three", 9), hit(4, "c", "four"), hit(5, "a", "five")]
    groups = group_hits(hits, 3)
    assert [group.best for group in groups] == [hits[0], hits[1], hits[3]]
    assert groups[0].more == [hits[2], hits[4]] and not groups[1].more


def test_the_places_are_filled_with_further_hits_only_if_there_is_one_document():
    hits = [hit(n, "book", f"text {n}") for n in range(1, 7)]
    groups = group_hits(hits, 4)
    assert [group.best.rank for group in groups] == [1, 2, 3, 4]
    assert [one.rank for one in groups[0].more] == [5, 6]
    groups = group_hits([*hits, hit(7, "letter", "text 7")], 4)
    assert [(group.best.rank, len(group.more)) for group in groups] == [(1, 5), (7, 0)]


def searched(hits, k):
    """The number of hits of each search for `k` groups, and the last result."""
    numbers = []

    def search(request):
        numbers.append(request.k)
        return SearchResult(tuple(hits[: request.k]))

    return numbers, search_for_groups(search, SearchRequest("text", k))


def test_more_hits_than_groups_are_searched_up_to_the_limit_of_a_server():
    hits = [hit(n, f"{n}", f"text {n}") for n in range(300)]
    assert [searched(hits, k)[0] for k in (1, 5, 30, 200)] == [[2], [10], [60], [200]]


def test_more_hits_are_searched_if_a_few_documents_fill_the_first_ones():
    hits = [hit(n, "book" if n < 25 else f"{n}", f"text {n}") for n in range(40)]
    numbers, result = searched(hits, 5)
    assert numbers == [10, 100]
    assert [group.best.chunk.path for group in group_hits(result.hits, 5)] == ["book", "25", "26", "27", "28"]
    assert searched(hits[:8], 5)[0] == [10], "there are no more"
    assert searched(hits[:25] * 8, 5)[0] == [10, 100], "not again and again"


def test_the_rows_of_a_table_after_a_few_follow_the_likely_hits_of_other_files():
    rows = [replace(hit(n, "b [1].csv", f"row {n}"), confidence=0.8) for n in range(1, 9)]
    notes = [hit(n, f"{n}.md", "text") for n in (9, 10, 11)]
    confidences = {"9": 0.3, "10": 0.2, "11": 0.02}
    others = [replace(one, confidence=confidences[one.chunk.id]) for one in notes]

    def search(request):
        assert request.text in ("text", 'text -path:"b [[]1].csv"')
        return SearchResult(tuple(others if "-path" in request.text else [*rows, notes[0]]))

    result = search_for_groups(search, SearchRequest("text", 5))
    assert [one.chunk.id for one in result.hits] == ["1", "2", "3", "9", "10", "4", "5", "6", "7", "8"]
    assert len({one.rank for one in result.hits}) == 10
    asked = SearchRequest("text", min_confidence=0.25)
    found = with_other_files(search, asked, SearchResult(tuple(rows)))
    assert [one.chunk.id for one in found.hits[:5]] == ["1", "2", "3", "9", "4"]
    few = SearchResult(tuple(rows[:3]))
    assert with_other_files(search, asked, few) is few


def test_unlikely_hits_are_left_out_beside_better_ones_alone():
    groups = group_hits([replace(hit(n, f"{n}.md", "text"), confidence=c) for n, c in ((1, 0.4), (2, 0.01))], 5)
    assert without_unlikely(groups) == groups[:1]
    assert without_unlikely(groups[1:]) == groups[1:]
