from unittest.mock import patch

import lancedb
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cdesearch.errors import QueryError
from cdesearch.search import path_filter
from cdesearch.search.path_filter import path_condition

PATHS = ["a.md", "ab.md", "aXmd", "it's.md", "sub/a.md", "sub/deep/a.md", "subway/a.md", "[x].md", "a-b.md", "x\ny.md"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    database = lancedb.connect(tmp_path_factory.mktemp("database"))
    return database.create_table("paths", pa.table({"path": PATHS}))


def matching(table, glob):
    return set(table.search().where(path_condition(glob)).limit(100).to_arrow()["path"].to_pylist())


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.md", set(PATHS) - {"aXmd"}),
        ("sub/*.md", {"sub/a.md"}),
        ("sub/**/*.md", {"sub/a.md", "sub/deep/a.md"}),
        ("sub", {"sub/a.md", "sub/deep/a.md"}),
        ("sub/", {"sub/a.md", "sub/deep/a.md"}),
        ("a?.md", {"ab.md"}),
        ("[!a].md", set()),
        ("[a-b].md", {"a.md", "sub/a.md", "sub/deep/a.md", "subway/a.md"}),
        ("a[!b]b.md", {"a-b.md"}),
        ("a[!b]deep", set()),
        ("[[]x[]].md", {"[x].md"}),
        ("it's.md", {"it's.md"}),
        ("a.md", {"a.md", "sub/a.md", "sub/deep/a.md", "subway/a.md"}),
        ("x*y.md", {"x\ny.md"}),
        ("/a.md", {"a.md"}),
        ("/sub", {"sub/a.md", "sub/deep/a.md"}),
        ("[x].md", {"[x].md"}),
        ("/[x].md", {"[x].md"}),
        ("**/" * 1300 + "a.md", {"a.md", "sub/a.md", "sub/deep/a.md", "subway/a.md"}),
    ],
)
def test_a_glob_selects_the_paths_that_it_names(table, glob, expected):
    assert matching(table, glob) == expected


@pytest.mark.parametrize("glob", ["Übersicht*", "U\u0308bersicht.md", "?bersicht.md", "*/Übersicht.md", "a/Ü*"])
def test_accents_match_whether_they_are_characters_of_their_own_or_not(tmp_path, glob):
    paths = ["a/Übersicht.md", "a/U\u0308bersicht.md"]
    table = lancedb.connect(tmp_path).create_table("paths", pa.table({"path": [*paths, "a/Ubersicht.md"]}))
    assert matching(table, glob) - {"a/Ubersicht.md"} == {*paths}


def test_of_several_globs_one_must_match_and_without_globs_no_path_does(table):
    found = table.search().where(path_condition("/a.md", "sub/deep/*")).limit(100).to_arrow()["path"].to_pylist()
    assert set(found) == {"a.md", "sub/deep/a.md"}
    assert not table.search().where(path_condition()).limit(100).to_arrow().num_rows


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.text(alphabet=st.sampled_from("ab/*?[]!-^&~\\'\"(){}|.+$\n#é漢 "), min_size=1, max_size=12))
def test_every_glob_is_applied_or_refused_with_an_error(table, glob):
    try:
        matching(table, glob)
    except QueryError as error:
        assert "range" in str(error)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.text(alphabet=st.sampled_from("abdmsu./*"), min_size=1, max_size=9), min_size=1, max_size=3))
@example(["sub/", "/a.md"])
@example(["/sub", "deep"])
def test_a_name_that_is_compared_as_it_is_matches_what_its_regular_expression_matches(table, globs):
    def found():
        condition = path_condition(*globs)
        return table.search().where(condition).limit(100).to_arrow()["path"].to_pylist()

    try:
        whole = found()
    except QueryError:
        return
    with patch.object(path_filter, "MOST_NAMES", -1):
        assert whole == found()


@pytest.mark.parametrize("globs", [("",), ("a", "")])
def test_an_empty_glob_is_refused(globs):
    with pytest.raises(QueryError, match="The pattern for paths is empty"):
        path_condition(*globs)


def test_a_reversed_range_is_refused():
    with pytest.raises(QueryError, match="z-a"):
        path_condition("[z-a]")
