"""The lines of a hit: the passage, and lines of context around it with their numbers in the file."""

from dataclasses import replace
from pathlib import Path

import pytest

from cdesearch.cli.hits.render import Shown, shortened
from cdesearch.search.documents import Surroundings, surroundings_of
from cdesearch.search.passage_lines import Line, best_line, best_position, query_words, shown_lines, trail_of
from cdesearch.store.line_places import LinePlaces
from cdesearch.store.schema import Chunk, Hit
from cdesearch.words.word_forms import word_spans

FILE = [f"line {n}" if n % 7 else "" for n in range(1, 41)]  # lines 7, 14, ... are blank
FILE[19] = "line 20 about the owl"


def chunk_of(first, last, ordinal=0, record=None):
    text = "\n".join(FILE[first - 1 : last])
    return Chunk(f"{first}", "a", record, ordinal, "a.txt", "", (), text, 0, first, last, None)


CHUNKS = [chunk_of(1, 6), chunk_of(8, 13, 1), chunk_of(15, 27, 2), chunk_of(29, 40, 3)]
CHUNK = CHUNKS[2]


def hit_of(chunk):
    return Hit(1, 1.0, chunk, None, None)


def numbered(lines):
    return [(line.number, line.text, line.is_context) for line in lines]


def test_the_passage_is_the_lines_with_most_words():
    lines = shown_lines(hit_of(CHUNK), ["owl"], full=False)
    assert [line.number for line in lines] == [20, 22, 23, 24], "no line before it has a word"
    assert best_line(lines, ["owl"]).number == 20


@pytest.mark.parametrize("context", [1, 3, 10, 50])
def test_context_comes_from_the_neighbouring_chunks_with_the_numbers_of_the_file(context):
    around = surroundings_of(CHUNKS, CHUNK.id, context)
    lines = shown_lines(hit_of(CHUNK), ["owl"], full=False, context=context, around=around)
    filled = [n for n in range(1, 41) if FILE[n - 1]]
    before = [n for n in filled if n < 20][-context:]
    after = [n for n in filled if n > 24][:context]
    expected = [(n, FILE[n - 1], n not in range(20, 25)) for n in filled if n in {*before, *range(20, 25), *after}]
    assert numbered(lines) == expected


def test_context_does_not_leave_the_record():
    chunks = [replace(chunk, record=name) for chunk, name in zip(CHUNKS, "aabb", strict=True)]
    around = surroundings_of(chunks, CHUNK.id, 50)
    assert around.before == "" and "line 40" in around.after
    assert surroundings_of(chunks, "unknown", 5) == Surroundings()


def test_a_line_that_is_divided_between_chunks_is_shown_whole():
    first = Chunk("1", "a", None, 0, "a", "", (), "one\nthe owl", 0, 1, 2, None)
    second = Chunk("2", "a", None, 1, "a", "", (), "hoots\nthree", 0, 2, 3, None)
    lines = shown_lines(
        hit_of(second), ["hoots"], full=False, context=1, around=surroundings_of([first, second], "2", 1)
    )
    assert numbered(lines) == [(1, "one", True), (2, "the owl hoots", False), (3, "three", False)]


def test_stop_words_choose_no_passage_if_there_are_other_words():
    assert query_words("how does the owl hoot") == ["owl", "hoot"]
    assert query_words("how does the") == ["how", "does", "the"]


def test_a_heading_that_is_shown_above_the_passage_is_no_part_of_it():
    text = "## Watering\nRoses need water.\n## Notes\nNothing."
    places = LinePlaces(trails=((0, ("Watering",)), (2, ("Notes",))))
    chunk = Chunk("1", "a", None, 0, "a.md", "Garden", (), text, 0, 1, 4, None, places=places)
    for query, shown in (("watering roses", ["Roses need water.", "Notes", "Nothing."]),
                         ("notes nothing", ["Watering", "Roses need water.", "Nothing."])):  # fmt: skip
        words = query_words(query)
        assert [line.text for line in shown_lines(hit_of(chunk), words, full=False)] == shown
    assert len(shown_lines(hit_of(chunk), ["watering"], full=False, context=1)) == 4


def test_a_passage_does_not_end_at_a_heading_whose_text_is_in_the_next_chunk():
    chunk = Chunk("1", "a", None, 0, "a.md", "", (), "Water roses.\n\n## Pruning roses\n\n```sh", 0, 1, 5, None)
    for query, shown in (("water", ["Water roses."]), ("pruning", ["Water roses.", "Pruning roses"])):
        assert [line.text for line in shown_lines(hit_of(chunk), [query], full=False)] == shown


def test_a_heading_belongs_to_the_section_that_it_begins():
    chunk = replace(CHUNK, trail=("Garden",), places=LinePlaces(trails=((4, ("Garden", "Roses")),)))
    assert trail_of(Line("Roses", row=3, source="## Roses"), chunk) == ("Garden", "Roses")
    assert {trail_of(Line("", row=2), chunk), trail_of(Line("Oaks", row=3, source="## Oaks"), chunk)} == {("Garden",)}


def chunk_with(*lines):
    return Chunk("1", "a", None, 0, "a.txt", "", (), "\n".join(lines), 0, 1, len(lines), None)


@pytest.mark.parametrize("query", ["résumé", "resume", "re\u0301sume\u0301", "Résumés"])
@pytest.mark.parametrize("form", ["Le résumé.", "The resume.", "RE\u0301SUME\u0301"])
def test_the_line_with_a_word_is_shown_whatever_its_accents(query, form):
    chunk = chunk_with(*"abcdefgh", form)
    words = query_words(query)
    lines = shown_lines(hit_of(chunk), words, full=False)
    assert best_line(lines, words).text == form
    (span,) = word_spans(form, words)
    assert form[slice(*span)] in form.rstrip(".").split() and best_position(form, words, 10) == span[0]


def test_a_word_of_two_letters_counts_if_one_has_an_accent():
    assert query_words("né à Łódź") == ["ne", "a", "łodz"]
    assert query_words("세종대왕") == ["세종대왕"], "the letters of Hangul are not accents"


def test_the_passage_is_the_section_with_all_words_not_one_that_repeats_a_word():
    text = ["# Branches", *(f"git {name}" for name in "abcd"), "# Reset", "", "A commit is undone by git reset.", "."]
    words = query_words("how is a commit undone in git")
    assert best_line(shown_lines(hit_of(chunk_with(*text)), words, full=False), words).text == text[7]


def test_the_part_of_a_long_line_with_most_words_is_shown():
    line = "The spare key. " + "Something else. " * 40 + "The key of the cellar hangs there."
    at = best_position(line, query_words("where does the cellar key hang"), 100)
    assert line[at:].startswith("key of the cellar") and best_position(line, ["zebra"], 100) == 0


def test_the_part_of_a_long_line_without_blanks_is_shown():
    line = "今天的天气非常好我们一起去公园散步。" * 40 + "押金为九百元。" + "然后我们回家做饭。" * 40
    assert "押金" in shortened(line, Shown("押金", lambda _: Path()))
    assert query_words("किताब मेज़") == ["किता", "मेज"]
