import io
import os
import subprocess
import sys

from rich.console import Console
from rich.progress import Progress as RichProgress

from cdesearch.progress import LINES_EVERY, _Shown


def lines_of(use):
    console = Console(file=io.StringIO(), highlight=False, soft_wrap=True)
    with RichProgress(console=console, disable=True) as bars:
        use(_Shown(console, bars))
    return console.file.getvalue().splitlines()


def test_without_a_terminal_each_stage_is_a_line():
    def use(display):
        display.stage("Reading", None)(3)
        display.stage("Embedding", 1200)(1)
        display.stage("Nothing to do", 0)

    assert lines_of(use) == ["Reading", "Embedding: 1,200"]


def test_without_a_terminal_some_details_and_every_note_are_lines():
    def use(display):
        display.stage("Training", 50)
        for step in range(LINES_EVERY + 1):
            display.detail(f"[step] {step}")
        display.note("[done]")

    assert lines_of(use) == ["Training: 50", "[step] 0", f"[step] {LINES_EVERY}", "[done]"]


def test_the_display_is_on_stderr():
    program = (
        "from cdesearch.progress import shown_on_stderr\n"
        "with shown_on_stderr() as display:\n    display.stage('Embedding', 2)(2)\n    display.detail('x')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ, check=True)
    assert (done.stdout, done.stderr) == ("", "Embedding: 2\nx\n")
