"""Hostile anchors, headings and titles do not reach a terminal, a reader of grep's lines, or an agent as they are."""

import json
import re

import pytest
from built import make_index, write_files
from command import cdesearch

from cdesearch.cli.token_budget import Part
from cdesearch.search.request import SearchRequest
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.mcp.search_tool import search

pytestmark = pytest.mark.slow

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
IDS = {
    "escape": f"x{ESCAPE}",
    "character-reference": "&#27;[31m&#7;&#155;31m",
    "lines": "a\nb\r\nc\u2028d\x85e",
    "scheme": "javascript:alert(1)",
    "markup": "'><script>alert(1)</script>",
    "bidirectional": "\u202egnp\u202c",
    "nul": "a&#0;b",
    "surrogate": "&#xd800;x",
    "percent": "%0a%1b]0;owned",
    "spaces": "a  b",
    "hash": "#a:1:b",
    "long": "L" * 1_000_000,
}
PAGE = """<title>Title {0:.200}</title><h1 id="{0}">First {0:.300}</h1><p>the whale {1}</p>
<h2 id="two{0}">Second {0:.50}</h2><p id="{0}">another whale for the search</p>"""
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\ud800-\udfff]")
LONGEST = 2_000  # characters of a line


@pytest.fixture(scope="module")
def pages(tmp_path_factory, tiny_checkpoint):
    texts = {f"{name}.html": PAGE.format(value, name) for name, value in IDS.items()}
    texts["mark.md"] = f"# Heading {ESCAPE}\n\nthe whale {ESCAPE} sings\n"
    docs = write_files(tmp_path_factory.mktemp("pages"), texts)
    make_index([docs], model=tiny_checkpoint)
    return docs


@pytest.mark.parametrize("options", ["text", "grep", "llm", "jsonl", "json", "text --full -C 2"])
def test_no_control_character_of_a_page_is_printed(pages, options):
    run = cdesearch("query", "whale", "--mode", "text", "-k", "50", "--format", *options.split(), cwd=pages)
    names = {f"{name}.html" for name in IDS} | {"mark.md"}
    assert all(name in run.stdout for name in names) or "llm" in options
    assert not CONTROL.search(run.stdout + run.stderr)
    assert "json" in options or max(map(len, run.stdout.splitlines())) < LONGEST
    if options == "grep":  # each hit is one line that begins with its file
        assert all(re.split("[#:]", line)[0] in names for line in run.stdout.splitlines())
    if options == "json":
        anchors = [hit["anchor"] for hit in json.loads(run.stdout)["hits"] if hit["anchor"] is not None]
        assert "javascript:alert(1)" in anchors, "an anchor is only ever the part of an address after #"
        assert all(re.fullmatch(r"\S{1,1999}", anchor) and anchor.isprintable() for anchor in anchors)


def test_an_agent_gets_no_control_characters(pages, tiny_checkpoint):
    request = SearchRequest("whale", k=50, mode="text")
    with ServedIndexes.open([pages], model=tiny_checkpoint) as indexes:
        answer = search(indexes, None, request, Part(8_000))
    passages = answer.data["passages"]
    texts = [value for passage in passages for value in passage.values() if isinstance(value, str)]
    assert len(passages) > len(IDS)
    assert not any(CONTROL.search(text) for text in (*texts, answer.text))
