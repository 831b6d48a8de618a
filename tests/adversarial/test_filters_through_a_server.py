"""A filter of files has the same hits through a running server as directly, whatever its globs contain."""

import os
import sys

import pytest
from background_server import runtime_folder, serve
from command import cdesearch
from hypothesis import given, settings
from hypothesis import strategies as st

from cdesearch.errors import QueryError
from cdesearch.search.request import SearchRequest
from cdesearch.search.searcher import Searcher
from cdesearch.service import open_service
from cdesearch.store.index import Index

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows takes no such names, and has no Unix sockets"),
]

NAMES = [
    "a.md",
    "sub/b.py",
    "sub/deep/c.PY",
    "it's & more=1;x.md",
    "per%20cent+plus.md",
    "#hash?.txt",
    "new\nline.md",
    "ünï 漢字.md",
    "[x].md",
    "{a,b}.md",
    "back\\slash.md",
    "*.md",
    "notes.txt.gz/d.md",
]
DAY = 86_400
# Pieces of globs: wildcards, parts of the names, and characters with a meaning in SQL, in addresses or in expressions.
PIECES = [
    *("*", "**", "/", "?", "[a-z]", "[!a]", "[", "]", "[z-a]", "{a,b}", "{", "}", ",", "\\", ".", "./", "../"),
    *("a", "sub", "deep", "md", ".py", "it's", "%20", "+", "&", "=", ";", "#", "\n", "ü", "漢字", "'", '"', "--", "$"),
    *("\0", "\ud800", "(?i)", "\\x{61}", " "),
]

globs = st.sampled_from(NAMES) | st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
suffixes = st.sampled_from(["md", "py", ".PY", "txt", ".gz", ".MD", ".ü", "._", ".md|py", ".", "..", "." * 21, ".md\n"])
times = st.integers(-2 * 10**9, 10**11) | st.sampled_from([day * DAY for day in range(len(NAMES))])
filters = st.fixed_dictionaries(
    {},
    optional={
        "path": st.lists(globs, max_size=3).map(tuple),
        "type": st.lists(suffixes, min_size=1, max_size=3).map(tuple),
        "since": times.map("@{}".format),
    },
)


@pytest.fixture(scope="module")
def searched(tmp_path_factory, tiny_checkpoint):
    """An index of files with unusual names and various times, a server for it, and a searcher."""
    docs = tmp_path_factory.mktemp("docs")
    for number, name in enumerate(NAMES):
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(f"the moon of house {number}", encoding="utf-8")
        os.utime(docs / name, (number * DAY, number * DAY))
    cdesearch("index", ".", "--model", tiny_checkpoint, cwd=docs)
    with runtime_folder() as runtime, pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_RUNTIME_DIR", str(runtime))
        serve("--background", "--port", "0", runtime=runtime, cwd=docs)
        index = Index.open(docs)
        with Searcher(index, model=tiny_checkpoint) as searcher:
            yield index, searcher


def directly(searcher, request):
    """The hits of a search in this process; None if the filter is not accepted."""
    try:
        return searcher.search(request).hits
    except QueryError:
        return None


def described(hit):
    """The fields of a hit that are printed."""
    chunk = hit.chunk
    return hit.rank, hit.score, hit.dense_score, hit.text_score, chunk.path, chunk.location, chunk.trail, chunk.body


@settings(max_examples=150, deadline=None)
@given(filters, st.sampled_from(["text", "text", "hybrid", "dense"]))
def test_a_filter_has_the_same_hits_through_a_server(searched, files, mode):
    index, searcher = searched
    request = SearchRequest("moon", 100, mode, **files)
    through, expected = open_service({"": index})._asked(request), directly(searcher, request)
    if expected is None:
        assert through is None  # a search in this process reports the reason
    else:
        assert through is not None
        assert [described(hit) for hit in through.hits] == [described(hit) for hit in expected]


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_file_is_a_filter_for_this_file(searched, name):
    index, searcher = searched
    request = SearchRequest("moon", 100, "text", (f"/{name}",))
    for result in (open_service({"": index})._asked(request), searcher.search(request)):
        assert name in [hit.chunk.path for hit in result.hits]
