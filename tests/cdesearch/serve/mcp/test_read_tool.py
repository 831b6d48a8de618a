import os
import zipfile
from pathlib import Path

import pytest
from mcp_calls import call, structured_text, text_of

import cdesearch
from cdesearch.cli.token_budget import MIN_TOKENS
from cdesearch.search.documents import DocumentReader
from cdesearch.serve.admission import Admission
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.mcp.read_tool import STALE
from cdesearch.serve.mcp.server import create_server


def read(agent, path, **arguments):
    return call(agent, "read", {"path": path, **arguments})


def test_a_range_of_lines_is_that_of_the_file(agent, corpus):
    lines = (corpus / "guide" / "river.md").read_text().split("\n")
    for first, last in ((1, 1), (1, 5), (7, 30), (20, 20)):
        data = read(agent, f"guide/river.md:{first}-{last}").structured_content
        shown = [line.rstrip() for line in data["text"].split("\n")]
        assert shown == [line.rstrip() for line in lines[first - 1 : last]]
        assert data["total"] == len("\n".join(lines).rstrip().split("\n")) and "next_offset" not in data


@pytest.mark.parametrize("path", ["guide/river.md", "moon.html", "one-line.txt", "chinese.txt", "bread.rst"])
@pytest.mark.parametrize("max_tokens", [MIN_TOKENS, 700])
def test_a_document_is_read_completely_in_parts_within_the_budget(agent, indexes, path, max_tokens):
    tokenizer = indexes["corpus"].searcher.tokenizer
    text, offset = "", 0
    for _ in range(200):
        result = read(agent, path, max_tokens=max_tokens, offset=offset)
        for form in (text_of(result), structured_text(result)):
            assert len(tokenizer.encode(form, add_special_tokens=False).ids) <= max_tokens
            assert len(form) <= 4 * max_tokens
        text += result.structured_content["text"]
        offset = result.structured_content.get("next_offset")
        if offset is None:
            break
        assert f"offset={offset}" in text_of(result)
    stored = "".join(chunk.body for chunk in DocumentReader(indexes["corpus"].index).file(path))
    assert "".join(text.split()) == "".join(stored.split())


def test_the_rest_of_a_truncated_document_can_be_read(agent, corpus):
    whole = (corpus / "guide" / "river.md").read_text()
    first = read(agent, "guide/river.md", max_tokens=700).structured_content
    rest = read(agent, first["left"], max_tokens=12000).structured_content
    assert "".join((first["text"] + rest["text"]).split()) == "".join(whole.split())


def test_pages_of_a_pdf_are_read(agent):
    data = read(agent, "engine.pdf#page=2-3").structured_content
    assert (data["page"], data["total"]) == ("2-3", 3) and data["text"].split("\n\n") == [
        "The engine is hot.",
        "The engine stops.",
    ]
    assert read(agent, "engine.pdf#page=1").structured_content["text"].strip() == "The engine starts."


def test_a_record_is_read_by_its_name(agent):
    assert "Entry a of" in text_of(read(agent, "diary.jsonl#a")) and "Entry z" not in text_of(
        read(agent, "diary.jsonl#a")
    )
    whole = text_of(read(agent, "diary.jsonl"))
    assert whole.index("Entry z") < whole.index("Entry a") < whole.index("Entry m")


@pytest.mark.parametrize(
    ("location", "context", "shown"),
    [
        ("guide/river.md:10", 2, "8-12"),
        ("guide/river.md:2-3", 5, "1-8"),
        ("bread.py:8-", 1, "7-9"),
        ("bread.py:9", 0, "9"),
        ("bread.py", 3, "1-9"),
        ("engine.pdf#page=2", 1, "1-3"),
    ],
)
def test_a_passage_is_read_with_what_is_around_it(agent, location, context, shown):
    data = read(agent, location, context=context).structured_content
    assert shown in [data.get(unit) for unit in ("lines", "page")]


@pytest.mark.parametrize("path", ["./bread.py", "bread.py:1-9", "ABSOLUTE/bread.py"])
def test_other_names_of_a_document_are_understood(agent, corpus, path):
    assert "def bake" in text_of(read(agent, path.replace("ABSOLUTE", str(corpus))))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "../notes/todo.md"}, "is not an indexed document"),
        ({"path": "guide/../../notes/todo.md"}, "is not an indexed document"),
        ({"path": "/etc/passwd"}, "is not an indexed document"),
        ({"path": "bread.py/"}, ""),
        ({"path": "x' OR 'a'='a"}, "is not an indexed document"),
        ({"path": "\0"}, "not valid Unicode"),
        ({"path": ".cdesearch/CURRENT"}, "is not an indexed document"),
        ({"path": "todo.md"}, 'Pass index="notes".'),
        ({"path": "guide"}, "guide is a folder."),
        ({"path": "empty.txt"}, "contains no text"),
        ({"path": "bread.py#page=1"}, "has lines, not pages. Use for example bread.py:1."),
        ({"path": "engine.pdf:1"}, "has pages, not lines. Use for example engine.pdf#page=1."),
        ({"path": "moon.html:1"}, "has parts, not lines"),
        ({"path": "bread.py", "lines": "1"}, "There is no parameter lines. The parameters are path, context, "),
        ({"path": "bread.py:10-"}, "has only 9 lines"),
        ({"path": "bread.py:-3"}, "is not an indexed document"),
        ({"path": "bread.py:9-3"}, "the smaller one comes first"),
        ({"path": "bread.py:0"}, "Numbers start at 1"),
        ({"path": "bread.py:" + "9" * 30}, "is not an indexed document"),
        ({"path": "bread.py:1", "context": -1}, "The parameter context should be greater than or equal to 0"),
        ({"path": "bread.py", "offset": -1}, "The parameter offset should be greater than or equal to 0"),
        ({"path": "bread.py", "max_tokens": 10**30}, "The parameter max_tokens should be less than or equal to 12000"),
        ({"path": "p" * 5_000}, "is not an indexed document"),
    ],
)
def test_an_invalid_call_of_read_is_an_error_with_a_remedy(agent, arguments, message):
    result = call(agent, "read", arguments)
    if message:
        assert result.is_error and message in text_of(result)
        assert len(text_of(result)) < 500
    else:
        assert not result.is_error


def test_a_text_whose_file_has_changed_or_gone_is_called_out_of_date(tmp_path, tiny_checkpoint):
    (tmp_path / "a.md").write_text("An owl.")
    with zipfile.ZipFile(tmp_path / "old.zip", "w") as archive:
        archive.writestr("notes/b.md", "A mouse.")
    cdesearch.build(tmp_path, model=tiny_checkpoint).close()
    admission = Admission(running=1, waiting=1, seconds=60)
    with ServedIndexes.open([tmp_path]) as indexes:
        own = create_server(indexes, admission)
        paths = ("a.md", "old.zip/notes/b.md")
        steps = ((Path.exists, False), (lambda file: os.utime(file, (1, 1)), True), (Path.unlink, True))
        for change, is_changed in steps:
            for path in paths:
                change(tmp_path / path.partition("/")[0])
                result = read(own, path)
                is_stale = STALE in text_of(result)
                assert is_stale == is_changed, path
                assert result.structured_content.get("note", "") == STALE * is_stale
    admission.close()
