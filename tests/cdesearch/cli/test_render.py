"""Without a terminal, hits are printed without rich. The output is that on a very wide terminal, without styles."""

import io
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from cdesearch.cli import render, terminal_hits
from cdesearch.cli.grouping import HitGroup
from cdesearch.store.schema import Chunk, Hit
from cdesearch.terminal import is_styled

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
    return HitGroup(draw(hits()), draw(several), draw(several))


def printed(group):
    """Return what is printed on a stream that is not a terminal."""
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdout", stream)
        render.show_hits(render.Shown("ab é", Path.cwd(), full=True), [group])
    return stream.getvalue()


@settings(deadline=None)
@given(groups())
def test_a_hit_without_a_terminal_is_what_rich_prints_without_styles(group):
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patched:
        console = Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True, width=100_000)
        patched.setattr(sys, "stdout", stream)
        patched.setattr(terminal_hits, "_indented", lambda text: Text(" " * render.INDENT) + text)
        patched.setattr(terminal_hits, "open_console", lambda **_: console)
        patched.setattr(render, "is_styled", lambda _: True)
        render.show_hits(render.Shown("ab é", Path.cwd(), full=True), [group])
    assert printed(group) == stream.getvalue()


@pytest.mark.parametrize(
    ("environment", "is_expected"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": ""}, False), ({"TTY_COMPATIBLE": "1"}, True)],
)
def test_styles_can_be_forced_as_for_other_programs(monkeypatch, environment, is_expected):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    assert is_styled(stream) is is_expected
