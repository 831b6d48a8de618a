"""Org, AsciiDoc, LaTeX and subtitles: what is text in them, and on which line it stands."""

import pytest
from conftest import make_tokenizer
from read_bytes import document, lines
from sample_files import FILES

from indexer.documents.chunk import Chunker


def titles(name):
    return [(one.level, one.title) for one in document(name, FILES[name]).headings]


@pytest.mark.parametrize("name", ["a.org", "a.adoc", "a.tex"])
def test_each_line_of_the_text_is_a_line_of_the_file(name):
    found = document(name, FILES[name])
    numbers = found.line_numbers or range(1, found.text.count("\n") + 2)
    assert found.has_lines and len(numbers) == found.text.count("\n") + 1
    assert list(numbers) == sorted(set(numbers)) and numbers[-1] <= FILES[name].count(b"\n") + 1


def test_org_is_read_without_settings_drawers_and_comments():
    assert document("a.org", FILES["a.org"]).title == "Bear notes"
    assert titles("a.org") == [(1, "Find honey :food:forest:"), (2, "Trees")]
    assert lines("a.org", FILES["a.org"]) == [
        (3, "# Find honey :food:forest:"),
        (7, "See the map."),
        (8, "```sh"),
        (9, "# no heading"),
        (10, "* star"),
        (11, "```"),
        (12, "## Trees"),
        (13, "- oak"),
    ]


def test_the_lines_of_a_drawer_that_are_not_properties_are_text():
    assert lines("a.org", ":LOGBOOK:\n:ID: 7\nhoney\n") == [(3, "honey")]


def test_code_of_org_becomes_code_of_markdown():
    text = "set =a=b= or (~x y~), =c=: 1 = 2, a=b=c, ~5 and ~6, = x =, [[u][=link=]]"
    found = document("a.org", f"* Run =make all= now\n{text}\n#+begin_src sh\necho =x=\n#+end_src\n")
    assert [one.title for one in found.headings] == ["Run make all now"]
    shown = "set `a=b` or (`x y`), `c`: 1 = 2, a=b=c, ~5 and ~6, = x =, `link`"
    assert found.text.splitlines()[1:] == [shown, "```sh", "echo =x=", "```"]


def test_asciidoc_is_read_without_attributes_comments_and_macros():
    assert titles("a.adoc") == [(1, "Bear Manual"), (2, "Care"), (2, "Older style")]
    assert lines("a.adoc", FILES["a.adoc"]) == [
        (1, "# Bear Manual"),
        (4, "## Care"),
        (7, "```"),
        (8, "# no heading"),
        (9, "```"),
        (10, "See the map and above."),
        (12, "## Older style"),
        (14, "Feed it."),
    ]


def test_at_most_two_empty_lines_are_kept_in_a_row():
    found = document("a.adoc", "one\n// a\n// b\n// c\ntwo\n\nthree\n")
    assert found.text == "one\n\n\ntwo\n\nthree\n"
    assert found.line_numbers == (1, 2, 3, 5, 6, 7, 8)


def test_latex_is_read_without_commands_and_comments_and_with_its_formulas():
    found = document("a.tex", FILES["a.tex"])
    assert found.title == "On Bears"
    assert titles("a.tex") == [(2, "The Bären of $x^2$")]
    assert lines("a.tex", FILES["a.tex"]) == [
        (4, "## The Bären of $x^2$"),
        (5, "They sleep — “soundly” 50% of a cold winter. "),
        (6, "\\begin{align}"),
        (7, " a &= b % kept"),
        (8, "\\end{align}"),
        (10, "- Naïve"),
        (12, "```"),
        (13, "# no \\emph{heading} % $"),
        (14, "```"),
        (15, "For $5."),
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"a \textcolor[rgb]{1,0,0}{red} \hyperlink{id}{word} & \multicolumn{2}{c}{cell}", "a red word & cell"),
        (r"\includegraphics[width=2cm]{a}\caption{The mill}", "The mill"),
        (r"As \cite{a}\emph{said} \setlength\parindent{0pt}\newcommand\foo[1]{x #1}here", "As said here"),
        (r"\begin{theorem}[Archimedes] Hulls float.\end{theorem}", "(Archimedes) Hulls float."),
        (r"\begin{tabular}[t]{ll}a\begin{figure}[!htbp]", "a"),
        (r"\begin{frame}<1>[fragile]{The mill}", "The mill"),
        ("\\author{Ann\\thanks{Ltd}}\n% \\author{Bob}\n\\begin{document}", "Ann Ltd"),
    ],
)
def test_arguments_of_latex_are_text_unless_they_are_settings(text, shown):
    assert [line for _, line in lines("a.tex", text)] == [shown]


def test_cues_are_joined_to_units_whose_time_is_in_the_trail():
    found = document("a.srt", FILES["a.srt"])
    assert [one.title for one in found.headings] == ["0:00:00-0:00:29", "0:00:30-0:00:59"]
    assert lines("a.srt", FILES["a.srt"])[:3] == [(3, "Bear 0"), (7, "Bear 1"), (11, "Bear 2 & cub.")]
    chunks = list(Chunker(make_tokenizer(), 16).split(found))
    assert {chunk.trail for chunk in chunks} == {("0:00:00-0:00:29",), ("0:00:30-0:00:59",)}
    assert chunks[0].line_start == 3 and chunks[-1].body.endswith("cub.") and chunks[-1].line_end == 47


def test_webvtt_is_read_with_its_speakers_and_without_notes_styles_and_repeated_lines():
    assert lines("a.vtt", FILES["a.vtt"]) == [(10, "Roger Bear: We are here"), (11, "- yes"), (15, "The end")]
    assert [one.title for one in document("a.vtt", FILES["a.vtt"]).headings] == ["0:00:01-0:00:03", "1:00:00-1:00:02"]


def test_events_of_substation_alpha_are_read_without_comments_styles_and_drawings():
    assert lines("a.ass", FILES["a.ass"]) == [(11, "Roger Bear: We are, here"), (13, "The end")]
    assert [one.title for one in document("a.ass", FILES["a.ass"]).headings] == ["0:00:01-0:00:03", "1:00:00-1:00:02"]


def test_bibtex_is_read_without_braces_and_with_the_letters_of_tex():
    assert lines("a.bib", FILES["a.bib"]) == [
        (1, "@article bear2020,"),
        (2, "  title = The Great Ürsus of Ørsted,"),
        (3, '  author = "Novák, Jiří and Müller",'),
        (4, "  pages = 10\u201320, note = 50% of $x^2$, see https://a.example/%20b,"),
    ]


def test_a_unit_ends_with_a_minute_although_no_sentence_does():
    cues = "".join(
        f"00:{n // 6:02}:{n % 6 * 10:02}.000 --> 00:{n // 6:02}:{n % 6 * 10 + 9:02}.000\nand {n}\n\n" for n in range(18)
    )
    assert [one.title for one in document("a.vtt", cues).headings] == [
        "0:00:00-0:00:59",
        "0:01:00-0:01:59",
        "0:02:00-0:02:59",
    ]


@pytest.mark.parametrize("name", ["<v Ann Fell>", "Ann Fell: "])
def test_a_speaker_is_named_once_in_a_sentence_of_several_cues(name):
    texts = (
        f"{name}We should postpone the",
        f"{name}capstan: the pawl is\nworn.",
        f"{name}Next is",
        "<v Bob>the kiln.",
    )
    cues = "".join(f"00:00:0{n}.000 --> 00:00:0{n}.900\n{text}\n\n" for n, text in enumerate(texts))
    assert [*filter(None, document("a.vtt", f"WEBVTT\n\n{cues}").text.split("\n"))] == [
        "Ann Fell: We should postpone the", "capstan: the pawl is", "worn.", "Ann Fell: Next is", "Bob: the kiln."
    ]  # fmt: skip
