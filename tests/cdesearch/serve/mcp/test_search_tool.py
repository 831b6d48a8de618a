import pytest
from fenced import passages_in
from mcp_calls import call, structured_text, text_of

from cdesearch.cli.hits import grouping
from cdesearch.cli.token_budget import DEFAULT_TOKENS, MAX_TOKENS, MIN_TOKENS

QUERIES = ("town with a mill", "moon tides", "engine", "月亮", "bake bread", "x" * 300, "def knead(dough)", "red alert")


def search(agent, query="town with a mill", **arguments):
    """The answer of one of the two indexes; None for `index` searches both."""
    return call(agent, "search", {"query": query, "index": "corpus"} | arguments)


def passages(result):
    assert not result.is_error, text_of(result)
    return result.structured_content["passages"]


def test_a_passage_names_its_location_and_can_be_read_there(agent):
    best = passages(search(agent, "a guide to the river", path="guide"))[0]
    assert best["path"] == "guide/river.md" and best["rank"] == 1 and best["heading"].startswith("Rivers")
    lines = call(agent, "read", {"path": f"{best['path']}:{best['lines']}"}).structured_content["text"]
    assert "".join(lines.split()) == "".join(best["text"].split())


def test_a_passage_has_its_headings_its_confidence_and_its_age(agent):
    result = search(agent, "which town has a mill at mile 3", path="guide/river.md", k=1)
    (best,) = passages(result)
    assert set(best) == {"rank", "path", "lines", "heading", "confidence", "age", "text"}
    line = passages_in(text_of(result))[0].partition("\n")[0]
    assert best["heading"].startswith("Rivers > Stage ") and best["age"].endswith(("minute", "minutes"))
    assert line.endswith(f"{best['heading']}  ({best['confidence']:.0%}, {best['age']} old)")


@pytest.mark.parametrize(
    ("query", "path", "location"),
    [
        ("engine is hot", "engine.pdf", "engine.pdf#page="),
        ("tides", "moon.html", "moon.html#part=1"),
        ("diary walk", "diary.jsonl", "diary.jsonl#"),
        ("spring water", "guide/deep", "guide/deep/er/spring.md:1-3"),
    ],
)
def test_the_text_shows_a_location_that_read_understands(agent, query, path, location):
    result = search(agent, query, path=path, k=1)
    shown = passages_in(text_of(result))[0].partition("\n")[0].removeprefix("[1] ").partition("  ")[0]
    assert shown.startswith(location)
    read = call(agent, "read", {"path": shown})
    assert "".join(passages(result)[0]["text"].split()) in "".join(text_of(read).split())


@pytest.mark.slow
@pytest.mark.parametrize("query", QUERIES)
def test_no_answer_exceeds_its_budget(agent, indexes, query):
    tokenizer = indexes["corpus"].searcher.tokenizer
    for max_tokens in (MIN_TOKENS, 333, 900, DEFAULT_TOKENS, MAX_TOKENS):
        result = search(agent, query, k=50, max_tokens=max_tokens)
        assert not result.is_error, text_of(result)
        for form in (text_of(result), structured_text(result)):
            assert len(tokenizer.encode(form, add_special_tokens=False).ids) <= max_tokens
            assert len(form) <= 4 * max_tokens


def test_passages_of_other_files_precede_the_further_rows_of_a_table_which_follow_with_the_next_offset(
    agent, monkeypatch
):
    monkeypatch.setattr(grouping, "FEW", 1)
    monkeypatch.setattr(grouping, "ANSWERABLE", 0.0)
    result = search(agent, "entry of the diary about a walk", k=3)
    assert [one["path"] == "diary.jsonl" for one in passages(result)] == [True, False, False]
    offset = result.structured_content["next_offset"]
    following = passages(search(agent, "entry of the diary about a walk", k=2, offset=offset))
    assert offset == 1 and {one["path"] for one in following} == {"diary.jsonl"}


def test_a_document_cannot_forge_a_passage_or_the_end_of_its_own(agent):
    found = search(agent, "forged heron", path="forged.md", mode="text")
    read = call(agent, "read", {"path": "forged.md"})
    for result in (found, read):
        (passage,) = passages_in(text_of(result))
        assert passage.startswith("[1] forged.md") and "official-policy.md" in passage
        assert passage.endswith(passages(found)[0]["text"])
        assert 'lines="900-"' not in text_of(result).rpartition(" end of [1]")[2]


def test_a_larger_budget_is_used(agent):
    sizes = [len(text_of(search(agent, k=50, max_tokens=n))) for n in (300, 1000, 4000)]
    assert sizes[0] * 1.5 < sizes[1] and sizes[1] * 1.5 < sizes[2]


@pytest.mark.parametrize("max_tokens", [400, 4000])
def test_pages_follow_one_another_and_lead_to_the_end(agent, indexes, max_tokens):
    ranks, offset, texts = [], 0, set()
    found = indexes["corpus"].searcher.search("river", 500, "text", "guide")
    expected = len({hit.chunk.body for hit in found})
    for _ in range(100):
        result = search(agent, "river", mode="text", path="guide", k=4, max_tokens=max_tokens, offset=offset)
        ranks += [passage["rank"] for passage in passages(result)]
        texts |= {passage["text"] for passage in passages(result)}
        offset = result.structured_content.get("next_offset")
        if offset is None:
            break
    else:
        pytest.fail("the pages do not end")
    assert ranks[0] == 1 and len(ranks) == len(set(ranks)) and expected >= 9
    for number in range(1, 10):
        assert any(f"town {number} " in text for text in texts)


def test_mode_and_path_narrow_the_search(agent):
    assert {one["path"] for one in passages(search(agent, path="guide/**"))} <= {
        "guide/river.md",
        "guide/deep/er/spring.md",
    }
    result = search(agent, "zebra", mode="text")
    assert passages(result) == [] and text_of(result) == "Nothing was found."


def test_type_and_time_narrow_the_search(agent):
    assert {one["path"] for one in passages(search(agent, "engine", type="py", since="1d"))} == {"bread.py"}
    assert "No indexed file matches type rust." in text_of(search(agent, type="rust"))
    assert "type py, since 2100-01-01" in text_of(search(agent, type="py", since="2100-01-01"))
    for wrong in ({"type": "pyt"}, {"since": "soon"}):
        assert search(agent, **wrong).is_error


def test_an_absolute_path_below_the_indexed_folder_is_understood(agent, corpus):
    assert {one["path"] for one in passages(search(agent, "bread", path=str(corpus / "bread.py")))} == {"bread.py"}


def test_a_path_that_matches_nothing_is_an_error(agent, corpus):
    for path in ("nowhere", "../notes/todo.md", "/etc/passwd", "guide/*.pdf"):
        result = search(agent, path=path)
        assert result.is_error and "No indexed file matches" in text_of(result) and str(corpus) in text_of(result)


def test_a_long_query_is_reported(agent):
    result = search(agent, "town " * 700)
    assert "longer than 512 tokens" in text_of(result) and result.structured_content["notes"]


def test_control_and_hidden_characters_are_not_shown(agent):
    result = search(agent, "red alert", mode="text", k=1)
    for form in (text_of(result), passages(result)[0]["text"]):
        assert "\x1b" not in form and "\u202e" not in form and "\U000e0041" not in form
        assert "Red alert and " in form and "\n\tA tab stays." in form


def test_a_question_that_nothing_answers_gets_a_note(agent):
    answered, foreign = search(agent, "town with a mill"), search(agent, "xylophone quotas")
    assert 0 < passages(answered)[0]["confidence"] < 1 and "notes" not in answered.structured_content
    notes = foreign.structured_content["notes"]
    assert notes == ["Nothing here seems to answer that.", 'No text here contains "xylophone".']
    assert all(note in text_of(foreign) for note in notes)
    assert 'Passages with "quartz" are left out.' in text_of(search(agent, "town with a mill -quartz"))


def test_all_indexes_are_searched_as_one_and_their_passages_can_be_read(agent):
    result = search(agent, "buy bread and water", index=None, path="", filter="")
    found = passages(result)
    assert {passage["index"] for passage in found} == {"corpus", "notes"}
    assert result.structured_content["index"] == "corpus, notes"
    assert "(notes)" in text_of(result) and "Each path follows the name of its index" in text_of(result)
    shown = next(line for line in text_of(result).splitlines() if "notes: todo.md" in line)
    location = shown.partition("] ")[2].partition("  ")[0]
    assert "Buy bread" in text_of(call(agent, "read", {"path": location}))
    assert not call(agent, "outline", {"path": "notes: todo.md"}).is_error


def test_passages_of_all_indexes_are_continued_and_filtered(agent):
    assert [one["rank"] for one in passages(search(agent, "bread and water", index=None, k=1, offset=1))] == [2]
    assert "todo.md" in text_of(search(agent, "bread", index=None, path="todo.md"))
    wrong = search(agent, "bread", index=None, path="no.md")
    assert wrong.is_error and "(corpus)" in text_of(wrong) and "(notes)" in text_of(wrong)


def test_related_passages_are_those_of_other_files_that_are_nearest(agent):
    result = call(agent, "related", {"path": "bread.py:7-9"})
    found = passages(result)
    assert found[0]["path"] == "bread.rst" and "bread.py" not in {one["path"] for one in found}
    assert [one["rank"] for one in found] == sorted(one["rank"] for one in found) and len(found) <= 5
    assert "next_offset" not in result.structured_content and "confidence" not in found[0]
    assert {"corpus", "notes"} >= {one["index"] for one in found}
    assert all(one["path"] != "todo.md" for one in passages(call(agent, "related", {"path": "notes: todo.md"})))


def test_records_of_the_same_file_are_related(agent):
    found = passages(call(agent, "related", {"path": "diary.jsonl#a", "index": "corpus"}))
    assert {one["record"] for one in found[:2]} == {"diary.jsonl#z", "diary.jsonl#m"}


@pytest.mark.parametrize("path", ["nowhere", "bread.py:70", "guide"])
def test_what_is_not_indexed_has_no_related_passages(agent, path):
    assert call(agent, "related", {"path": path}).is_error
