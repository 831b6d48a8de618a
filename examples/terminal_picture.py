"""Draw how a terminal shows the hits of some questions.

    python examples/terminal_picture.py FOLDER TITLE QUESTION... > terminal.svg

FOLDER is an indexed folder. The questions are answered on a pseudo-terminal, which Windows does not have.
"""

import io
import os
import shlex
import subprocess
import sys

from rich.console import Console
from rich.text import Text

COLUMNS = 100
ARGUMENTS = ("-k", "2", "--no-pager")


def on_terminal(folder: str, question: str) -> str:
    """What `cdesearch` prints on a terminal, with the escape sequences of its colours."""
    import pty  # not on Windows, where the example can only say how it is called

    command = [sys.executable, "-m", "cdesearch", question, *ARGUMENTS]
    terminal, process_side = pty.openpty()
    environment = os.environ | {"COLUMNS": str(COLUMNS), "LINES": "100", "TERM": "xterm-256color"}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=process_side):
        os.close(process_side)
        printed = b""
        try:
            while piece := os.read(terminal, 10_000):
                printed += piece
        except OSError:  # the end, on Linux
            pass
    os.close(terminal)
    return printed.decode().replace("\r\n", "\n").rstrip("\n")


def main() -> None:
    """Print the picture as SVG."""
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    folder, title, *questions = sys.argv[1:]
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), highlight=False)
    for number, question in enumerate(questions):
        if number:
            console.print()
        typed = shlex.join(["cdesearch", question, *ARGUMENTS[:2]]).replace("'", '"')
        console.print(Text.assemble(("$ ", "bold green"), (typed, "bold")))
        console.print(Text.from_ansi(on_terminal(folder, question)))
    print(console.export_svg(title=title))


if __name__ == "__main__":
    main()
