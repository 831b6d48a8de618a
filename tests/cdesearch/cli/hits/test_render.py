"""Without a terminal, hits are printed without rich. The output is that on a very wide terminal, without styles."""

import io
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from cdesearch.cli.hits import render, terminal
from cdesearch.cli.hits.grouping import HitGroup
from cdesearch.search.result import SearchResult
from cdesearch.store.schema import Chunk, Hit

TEXT = st.text(st.sampled_from("ab \t\n\r\x07\x1b[]:é漢字🐈\u202e\u200d\x0b\x0c\u2028"), max_size=200)


@st.composite
def hits(draw):
    record = draw(st.none() | TEXT)
    number = draw(st.none() | st.integers(1, 10**6))
    trail = tuple(draw(st.lists(TEXT, max_size=2)))
    chunk = Chunk("0", "a.md#1", record, 0, "a.md", draw(TEXT), trail, draw(TEXT), 0, number, number, draw(st.none()))
    return Hit(draw(st.integers(1, 1000)), draw(st.floats(-1e6, 1e6)), chunk, None, None)


@st.composite
def groups(draw):
    several = st.lists(hits(), max_size=2)
    return HitGroup(replace(draw(hits()), copies=tuple(draw(several))), draw(several))


def shown_for(query, **options):
    return render.Shown(query, lambda _: Path.cwd(), **options)


def printed(group):
    """Return what is printed on a stream that is not a terminal."""
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdout", stream)
        render.show_plain(shown_for("ab é", full=True), [group])
    return stream.getvalue()


@pytest.mark.slow
@settings(deadline=None)
@given(groups())
def test_a_hit_without_a_terminal_is_what_rich_prints_without_styles(group):
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patched:
        console = Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True, width=100_000)
        patched.setattr(sys, "stdout", stream)
        patched.setattr(terminal, "Padding", lambda text, _: Text(" " * render.INDENT) + text)
        patched.setattr(terminal, "open_console", lambda **_: console)
        terminal.show_styled(shown_for("ab é", full=True), [group], has_pager=False)
    assert printed(group) == stream.getvalue() + "\n", "on a terminal, no blank line follows the last hit"


LINES = [f"line {n} of the chunk" for n in range(20)]
LINES[12] = "the whale sings"
CODE = Chunk("0", "a.txt", None, 0, "a.txt", "", (), "\n\n".join(LINES), 0, 101, 139, None)


def test_the_line_of_a_hit_is_the_one_with_its_words_in_the_passage_that_is_shown(capsys):
    hit = Hit(1, 1.0, CODE, None, None)
    render.show_plain(shown_for("whale"), [HitGroup(hit)])
    heading, first, *_ = capsys.readouterr().out.splitlines()
    assert heading.startswith(" 1 a.txt:125") and first.strip() == LINES[12]
    (shown,) = render.result_as_json("whale", "text", SearchResult((hit,)), lambda _: Path.cwd())["hits"]
    assert (shown["line"], shown["line_start"], shown["line_end"]) == (125, 101, 139)


@pytest.mark.parametrize(
    ("place", "fragment"), [({"anchor": "a b#ü"}, "#a%20b%23%C3%BC"), ({"page": 3, "anchor": "x"}, "#page=3"), ({}, "")]
)
def test_the_link_of_a_hit_opens_the_file_at_its_anchor_or_page(capsys, monkeypatch, place, fragment):
    monkeypatch.setenv("FORCE_COLOR", "1")
    chunk = replace(CODE, line_start=None, line_end=None, **place)
    terminal.show_styled(shown_for("whale"), [HitGroup(Hit(1, 1.0, chunk, None, None))], has_pager=False)
    assert f"{(Path.cwd() / 'a.txt').as_uri()}{fragment}\x1b\\" in capsys.readouterr().out


def test_only_the_places_of_the_best_further_hits_are_named():
    def at(line):
        return Hit(1, 1.0, Chunk("0", "a", None, 0, "a.md", "", (), "the cat", 0, line, line, None), None, None)

    group = HitGroup(at(1), [at(line) for line in (9, 3, 7, 2, 5, 8, 4)])
    (line,) = render.further(shown_for("cat"), group)
    assert line == "+7 more: lines 2, 3, 5, 7, 9, …"
