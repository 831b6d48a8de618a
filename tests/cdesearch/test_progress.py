import os
import subprocess
import sys

import pytest

from cdesearch.progress import SECONDS, PlainLines, shown_on_stderr
from cdesearch.terminal import printable


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_without_a_terminal_each_stage_with_work_is_a_line(capsys):
    display = PlainLines()
    display.stage("Reading", None)(3)
    display.stage("Embedding", 1200)(1)
    display.stage("Nothing to do", 0)
    assert capsys.readouterr().err.splitlines() == ["Reading", "Embedding: 1,200"]


def test_without_a_terminal_a_long_stage_shows_its_progress_from_time_to_time(capsys):
    clock = Clock()
    display = PlainLines(clock)
    advance = display.stage("Embedding", 1200)
    for _ in range(12):
        clock.now += SECONDS / 4
        advance(100)
    assert capsys.readouterr().err.splitlines() == [
        "Embedding: 1,200",
        "Embedding: 400 of 1,200",
        "Embedding: 800 of 1,200",
        "Embedding: 1,200 of 1,200",
    ]


def test_without_a_terminal_some_details_and_every_note_are_lines(capsys):
    clock = Clock()
    display = PlainLines(clock)
    display.stage("Training", 50)
    for step in range(9):
        clock.now += SECONDS / 4
        display.detail(f"[step] {step}")
    display.note("[done]")
    assert capsys.readouterr().err.splitlines() == ["Training: 50", "[step] 3", "[step] 7", "[done]"]


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
    PlainLines(Clock()).note(f"note {text}")
    assert terminal.readouterr().err.splitlines() == [f"note {printable(text)}"]


def test_the_display_is_on_stderr():
    program = (
        "from cdesearch.progress import shown_on_stderr\n"
        "with shown_on_stderr() as display:\n    display.stage('Embedding', 2)(2)\n    display.note('x')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ, check=True)
    assert (done.stdout, done.stderr) == ("", "Embedding: 2\nx\n")
