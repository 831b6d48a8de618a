"""A regular expression restricts the hits, as Python's library would, and names the lines that match."""

import re

import pytest
from built import write_files

import cdesearch
from cdesearch.errors import QueryError

FILES = {
    "log.md": "# Log 1\n\nstart v12\nidle\nstop V7\n\n## Log 2\n\nÜbergabe v3\nidle again\n"
    + "filler of text\n" * 400
    + "end v4\n",
    "notes.txt": "Notes say that it's done.\n\n\tlast v5 é\n",
    "sub/run.py": "def run(v2):\n    retry = [1, 2]\n    return v2\n",
    "table.jsonl": '{"text": "first\\nsecond v6"}\n\n{"id": "k", "text": "third v8"}\n',
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    root = write_files(tmp_path_factory.mktemp("patterns"), FILES)
    with cdesearch.build(root) as built:
        yield built


@pytest.mark.parametrize(
    "regex",
    [
        *(r"v\d", r"(?i)\bv\d+$", "^idle|^end", r"it's", r"\[1, 2\]", "é$", r"\bÜ\w+", "v[2-5]{1}"),
        *(r"stop V7\s+## Log", r"\w*", "(x+x+)+y"),
    ],
)
def test_the_hits_and_their_lines_are_those_that_match(opened, regex):
    every = [hit.chunk for hit in opened.search("v idle", 100, "dense")]
    expected = {}
    for chunk in every:
        lines = {
            chunk.body.count("\n", 0, match.start()) + n
            for match in re.finditer(f"(?m){regex}", chunk.body)
            for n in range(match[0].count("\n") + 1)
        }
        expected |= {chunk.id: tuple(sorted(lines))} if lines else {}
    for text, mode in (("", "hybrid"), ("idle", "dense"), ("idle", "hybrid")):
        found = opened.search(text, 100, mode, regex=regex)
        assert {hit.chunk.id: hit.matches for hit in found} == expected


def test_without_words_hits_are_in_the_order_of_paths_and_lines(opened):
    found = opened.search("-zebra path:*.{md,py,txt}", regex=r"v\d")
    places = [(hit.chunk.path, hit.chunk.line_start) for hit in found]
    assert places == sorted(places) and {path for path, _ in places} == {"log.md", "notes.txt", "sub/run.py"}
    assert [hit.rank for hit in found] == [1, 2, 3, 4] and all(hit.confidence is None for hit in found)
    assert [hit.chunk.path for hit in opened.search("", 1, regex="v")] == ["log.md"]


@pytest.mark.parametrize(
    ("regex", "reason"),
    [
        ("(", "unclosed group"),
        ("(?=a)", "look-around"),
        (r"(a)\1", r"'(a)\1' is not a pattern that can be searched for (backreferences"),
        ("[z-a]", "invalid character class range"),
        ("(?:a{1000}){1000}", "it is too large"),
        ("", "The pattern is empty."),
        ("a\0", "not valid Unicode"),
    ],
)
def test_a_pattern_that_cannot_be_searched_for_is_one_clear_error(opened, regex, reason):
    with pytest.raises(QueryError) as raised:
        opened.search("idle", regex=regex)
    assert reason in str(raised.value) and "\n" not in str(raised.value)
