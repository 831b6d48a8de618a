"""Facets count the files of the candidates of a query by folder, type, year and tag."""

import os
from datetime import datetime

import pytest
from built import write_files

import cdesearch
from cdesearch.search.facets import Facts, facets_of
from cdesearch.search.request import SearchRequest
from cdesearch.search.searcher import Searcher
from cdesearch.search.together import Together
from cdesearch.store.index import Index

NOTES = {
    "work/a/owl.md": "---\ndate: 2024-05-01\ntags: [birds, night]\n---\nThe owl hunts at night.",
    "work/a/long.md": "---\ntags: [birds]\n---\n" + "".join(f"# Part {n}\n\nThe owl, again.\n\n" for n in range(6)),
    "work/b/c/deep.txt": "An owl in the deep.",
    "home/mouse 2019-02-03.TXT": "A mouse fears the owl.",
    "home/seen.csv": "bird,tag,date\nAn owl,night,2019-03-01\nAn owl,day,2020-01-01\nOwls,night,2019-04-01\n",
}
EXPECTED = {
    "folder": [("work", 3), ("home", 2), ("work/a", 2), ("work/b", 1)],
    "type": [("md", 2), ("txt", 2), ("csv", 1)],
    "year": [("2024", 1), ("2020", 3), ("2019", 2)],
    "tag": [("birds", 2), ("night", 2), ("day", 1)],
}
FILTERS = {
    "folder": lambda value: {"path": f"/{value}"},
    "type": lambda value: {"type": f".{value}"},
    "year": lambda value: {"since": value, "before": str(int(value) + 1)},
    "tag": lambda value: {"filter": f'tag="{value}"'},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_checkpoint):
    root = write_files(tmp_path_factory.mktemp("facets") / "notes", NOTES)
    for name in NOTES:
        os.utime(root / name, (datetime(2020, 6, 1).timestamp(),) * 2)
    cdesearch.build(root, model=tiny_checkpoint).close()
    return root


def facets(result):
    return facets_of(result.documents)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "text"])
def test_files_are_counted_by_folder_type_year_and_tag(folder, mode):
    with Searcher(Index.open(folder)) as searcher:
        found = searcher.search(SearchRequest("owl", 2, mode, facets=True))
        assert facets(found) == EXPECTED
        assert len(found) == 2 and found == searcher.search("owl", 2, mode)
        assert not searcher.search("owl", 2, mode).documents


def test_each_value_is_a_filter_that_finds_its_files(folder):
    with Searcher(Index.open(folder)) as searcher:
        for name, filters in FILTERS.items():
            for value, count in EXPECTED[name]:
                hits = searcher.search("owl", 99, **filters(value))
                assert len({hit.chunk.path for hit in hits}) == count, (name, value)


def test_a_filter_is_followed_by_the_folders_below_it(folder):
    with Searcher(Index.open(folder)) as searcher:
        found = searcher.search(SearchRequest("owl", path=("work",), facets=True))
        assert facets(found)["folder"] == [("work/a", 2), ("work/b", 1), ("work/b/c", 1)]


def test_the_files_of_several_indexes_are_counted_together(folder):
    members = {name: Searcher(Index.open(folder)) for name in ("one", "two")}
    with Together(members) as together:
        found = together.search(SearchRequest("owl", facets=True))
        assert facets(found)["tag"] == [("birds", 4), ("night", 4), ("day", 2)]
        assert {(hit.index, hit.chunk.document_id) for hit in found} <= found.documents.keys()


def test_without_candidates_there_are_no_values():
    assert set(map(len, facets_of({}).values())) == {0}
    assert facets_of({(None, "a"): Facts("a", None, ())}) == {"folder": [], "type": [], "year": [], "tag": []}


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01", "2026-02-31", "2026-13-45", "soon"])
def test_values_by_which_no_search_can_be_filtered_are_left_out(day):
    facts = Facts.of("notes/a.c++", [f"date={day}"], None)
    assert not any(facets_of({(None, "a"): facts})[name] for name in ("year", "type"))


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("2025-04-02_minutes.md", "2025-04-02"), ("in/IMG_20240517_101112.txt", "2024-05-17"),
        ("letter 2024_03_01.docx", "2024-03-01"), ("2024-02-30 as 20240301.md", "2024-03-01"), ("2024-0301.md", None),
        ("2024-03-01/a.md", None), ("120240301.md", None), ("2024-03-011.md", None), ("1949-12-31.md", None),
        ("05.03.2024 minutes.md", "2024-03-05"), ("2024.03.05.md", "2024-03-05"), ("31.2.2024.md", None),
        ("Brief_5._März_2024.pdf", "2024-03-05"), ("2024年3月5日 会議.md", "2024-03-05"), ("Plan 2024.md", None),
    ],
)  # fmt: skip
def test_the_name_of_a_file_may_have_its_date(path, day):
    assert Facts.of(path, ["date=soon"], None).day == day
    assert Facts.of(path, ["date=2026-01-31"], 0).day == "2026-01-31"
