import io
import os
import subprocess
import sys

from rich.console import Console
from rich.progress import Progress as RichProgress

from cdesearch.progress import SECONDS, PlainLines, _Bars


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


def test_on_a_terminal_a_stage_replaces_the_bar_of_the_one_before():
    console = Console(file=io.StringIO(), force_terminal=True, width=80, highlight=False)
    with RichProgress(console=console, auto_refresh=False) as bars:
        display = _Bars(bars)
        display.stage("Reading", None)(3)
        display.stage("Embedding", 12)(5)
        display.detail("loss 2")
        display.note("[done]")
        (task,) = bars.tasks
        assert (task.description, task.completed, task.fields["detail"]) == ("Embedding", 5, "loss 2")
    assert "[done]" in console.file.getvalue()


def test_the_display_is_on_stderr():
    program = (
        "from cdesearch.progress import shown_on_stderr\n"
        "with shown_on_stderr() as display:\n    display.stage('Embedding', 2)(2)\n    display.note('x')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ, check=True)
    assert (done.stdout, done.stderr) == ("", "Embedding: 2\nx\n")
