from types import SimpleNamespace

import pytest

from cdesearch import progress
from cdesearch.progress import SECONDS, PlainLines, shown_on_stderr
from cdesearch.terminal import printable


def test_without_a_terminal_stages_and_their_progress_from_time_to_time_are_lines(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with shown_on_stderr() as display:
        display.stage("Nothing to do", 0)
        display.stage("Reading", None)(3)
        advance = display.stage("Embedding", 1200)
        for step in range(4):
            now[0] += SECONDS / 2
            advance(300)
            display.detail(f"[step] {step}")
        now[0] += SECONDS
        for word in ("now", "at once"):
            display.detail(f"[loss] {word}")
        display.note("[done]")
    embedding = ["Embedding: 1,200", "Embedding: 600 of 1,200", "Embedding: 1,200 of 1,200"]
    assert capsys.readouterr().err.splitlines() == ["Reading", *embedding, "[loss] now", "[done]"]


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Captures what is written to stderr, which counts as a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    return capsys


def test_on_a_terminal_a_stage_replaces_the_bar_of_the_one_before(terminal):
    with shown_on_stderr() as display:
        display.stage("Reading", None)(3)
        display.stage("Embedding", 12)(5)
        display.detail("loss 2")
        display.note("[done]")
        (task,) = display._bars.tasks
        assert (task.description, task.completed, task.fields["detail"]) == ("Embedding", 5, "loss 2")
    assert "[done]" in terminal.readouterr().err


@pytest.mark.parametrize("text", ["\x1b]0;title\x07\x1b[2J", "a[/b]", "p[red]x", ":bomb:", "a\nb"])
def test_names_of_files_are_shown_as_they_are_without_their_escapes(text, terminal):
    with shown_on_stderr() as display:
        display.stage(f"stage {text}", 3)
        display.detail(f"detail {text}")
        display.note(f"note {text}")
    shown = terminal.readouterr().err
    assert all(f"{kind} {printable(text)}" in shown for kind in ("stage", "detail", "note"))
    assert "\x1b]0" not in shown and "\x1b[2J" not in shown
    PlainLines().note(f"note {text}")
    assert terminal.readouterr().err.splitlines() == [f"note {printable(text)}"]
