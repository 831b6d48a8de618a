import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdesearch.answer.citations import NO_SOURCE, CitationFilter


def checked(text, n_passages=3, size=1, unmarked=""):
    found = CitationFilter(n_passages, unmarked)
    shown = "".join(found.feed(text[start : start + size]) for start in range(0, len(text), size))
    return shown + found.finish(), found


@pytest.mark.parametrize(
    ("text", "expected"),  # None: the same
    [
        ("The cat sat [1].", None),
        ("The cat sat. [1] It ran.[2]", None),
        ("The cat sat.", "The cat sat. [no source]"),
        ("The cat sat. It ran [2].", "The cat sat. [no source] It ran [2]."),
        ("It sat [7]. It ran [2, 9, 3].", "It sat. [no source] It ran [2, 3]."),
        ("It sat [1-3], not [0] or [1\u20132].", "It sat [1, 2, 3], not or [1, 2]."),
        ("Dr. Smith, e.g. the Dr. of 3.5 cats, sat [1]. Yes [2].", None),
        ("It sat\non a mat [1].\nIt ran\naway.", "It sat\non a mat [1].\nIt ran\naway. [no source]"),
        ("Steps:\n- one [1]\n- two\n1. three [2]\n", "Steps:\n- one [1]\n- two [no source]\n1. three [2]\n"),
        ("# A title\n\n**Bold**\n\nText [1].", None),
        (
            "One [1].\n\n```py\nx[0] = 1. Go on.\n```\nTwo.",
            "One [1].\n\n```py\nx[0] = 1. Go on.\n```\nTwo. [no source]",
        ),
        ("Call `a[9]. B` now [1].", None),
        (
            "| a | b |\n|---|---|\n| c [1] | d |\n| e | f |",
            "| a | b |\n|---|---|\n| c [1] | d |\n| e | f | [no source]",
        ),
        ("See [the page](http://x.y/z) [1].", None),
        ("\u4f60\u597d\u3002\u4e16\u754c[1]\u3002", "\u4f60\u597d\u3002 [no source]\u4e16\u754c[1]\u3002"),
        ("An open [1", "An open [1 [no source]"),
        ("[1] starts it.", None),
        ("", None),
        ("...", None),
    ],
)
def test_citations_are_checked(text, expected):
    assert checked(text)[0] == (text if expected is None else expected)


def test_removed_citations_and_marked_sentences_are_counted():
    _, found = checked("It sat [7]. It ran [2, 9, 3]. It slept. Then [2].")
    assert (found.n_removed, found.n_unsourced, found.cited) == (2, 2, [2, 3])


def test_the_sentence_that_says_that_nothing_answers_needs_no_source():
    assert checked("There is no answer.", unmarked="There is no answer.")[0] == "There is no answer."


def test_text_is_shown_before_its_sentence_ends():
    found = CitationFilter(3)
    assert found.feed("The cat sat on") == "The cat sat"
    assert found.feed(" the mat [") == " on the mat"
    assert found.feed("1] all day. ") == " [1] all day."


PARTS = ("The cat", " sat", ".", "!", " ", "\n", "\n\n", "- ", "1. ", "# ", "[1]", "[2, 9]", "[", "]", "`", "```\n")
PARTS += ("|", ":", "e.g. ", "Dr. ", "\u3002", "\u4f60", "'", "(", ")", "**")
PIECES = st.lists(st.sampled_from(PARTS), max_size=25).map("".join)


@given(PIECES, st.integers(1, 7))
def test_the_output_does_not_depend_on_the_pieces_of_the_answer(text, size):
    assert checked(text, size=size)[0] == checked(text, size=1000)[0]


@given(PIECES)
def test_only_citations_are_removed_and_only_marks_are_added(text):
    shown, found = checked(text)
    assert shown.count(NO_SOURCE) == found.n_unsourced
    kept = shown.replace(f" {NO_SOURCE}", "")
    for citation in ("[1]", "[2, 9]", "[2]"):
        text, kept = text.replace(citation, ""), kept.replace(citation, "")
    assert "".join(kept.split()) == "".join(text.split())
