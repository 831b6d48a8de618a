import pytest
from mcp_calls import call, structured_text, text_of


def outline(agent, path=None, **arguments):
    return call(agent, "outline", arguments if path is None else {"path": path, **arguments})


def items(result):
    assert not result.is_error, text_of(result)
    return result.structured_content["items"]


@pytest.mark.slow
def test_the_whole_index_is_listed_by_folders_and_files(agent):
    listed = items(outline(agent))
    assert listed[0] == {"folder": "guide", "documents": 2}
    assert {"path": "diary.jsonl", "documents": 3} in listed
    assert {"path": "engine.pdf", "parts": 3} in listed
    assert text_of(outline(agent)).startswith("corpus  15 documents\n\nguide/  2 documents\n")
    assert items(outline(agent, ".")) == items(outline(agent, "")) == listed


@pytest.mark.slow
def test_a_folder_lists_what_is_in_it(agent, corpus):
    listed = items(outline(agent, "guide"))
    assert listed[0] == {"folder": "guide/deep", "documents": 1}
    assert (listed[1]["path"], listed[1]["title"]) == ("guide/river.md", "Rivers")
    assert items(outline(agent, str(corpus / "guide") + "/")) == listed


def test_a_file_of_records_lists_them(agent):
    listed = items(outline(agent, "diary.jsonl"))
    assert {one["path"] for one in listed} == {"diary.jsonl#a", "diary.jsonl#m", "diary.jsonl#z"}
    assert "Day m" in {one["title"] for one in listed}


def test_headings_have_the_lines_of_the_file(agent, corpus):
    lines = (corpus / "guide" / "river.md").read_text().split("\n")
    listed = items(outline(agent, "guide/river.md"))
    assert [one["heading"] for one in listed] == ["Rivers", *(f"Stage {number}" for number in range(1, 10))]
    for one in listed:
        assert lines[one["lines"] - 1].lstrip("# ") == one["heading"]
    assert [one["level"] for one in listed] == [1] + [2] * 9
    assert "  Stage 3" in text_of(outline(agent, "guide/river.md"))


@pytest.mark.parametrize(
    ("path", "headings"),
    [
        ("bread.rst", [("Bread", 1), ("Oven", 6), ("Crust", 11)]),
        ("moon.html", [("Moon", 1), ("Phases", 1)]),
        ("bread.py", [("def knead(dough)", 3), ("def bake(dough, minutes=40)", 7)]),
        ("engine.pdf", [("The engine starts.", 1), ("The engine is hot.", 2), ("The engine stops.", 3)]),
    ],
)
def test_headings_of_other_formats_are_found(agent, path, headings):
    listed = items(outline(agent, path))
    assert [(one["heading"], one.get("lines") or one.get("page") or one["part"]) for one in listed] == headings


def test_an_outline_is_continued_within_the_budget(agent, indexes):
    path = "contents.md"
    whole, listed, offset = items(outline(agent, path)), [], 0
    tokenizer = indexes["corpus"].searcher.tokenizer
    while offset is not None:
        result = outline(agent, path, max_tokens=250, offset=offset)
        for form in (text_of(result), structured_text(result)):
            assert len(tokenizer.encode(form, add_special_tokens=False).ids) <= 250
        listed += items(result)
        offset = result.structured_content.get("next_offset")
    assert listed == whole and len(whole) == 60 > 2 * len(items(outline(agent, path, max_tokens=250)))


@pytest.mark.parametrize("path", ["nowhere", "../corpus", "/etc", "guid", "\0"])
def test_a_path_that_is_not_indexed_has_no_outline(agent, path):
    assert outline(agent, path).is_error
