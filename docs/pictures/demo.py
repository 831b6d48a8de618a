"""Draw a film of a terminal, in which the documentation is indexed, searched and asked, as an SVG that browsers play.

    python docs/pictures/demo.py > docs/pictures/demo.svg

The commands run on a pseudo-terminal, which Windows does not have, in a copy of the folder docs and with a new home.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

from rich.console import Console
from rich.style import Style
from rich.text import Text

DOCS = Path(__file__).parents[1]
SCENES = (
    (["how do I keep an index up to date", "-k", "2"], 9),  # the arguments, and how many seconds its output is shown
    (["the power fails while it updates", "-k", "2"], 8),
    (["ask", "can other people read my index"], 9),
)
COLUMNS, ROWS = 92, 24
WIDTH, HEIGHT = 8.4, 19  # of a letter, in pixels
BACK, PLAIN, DIM = "#0d1117", "#e6edf3", "#7d8590"
COLOURS = {1: "#ff7b72", 5: "#d2a8ff", 6: "#79c0ff"}  # by the number of the terminal's colour
FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">
<title>A folder is indexed and searched on a terminal, and a question is answered with its source</title>
<style>text {{font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  white-space: pre}}
{style}
@media (prefers-reduced-motion) {{* {{animation: none !important}} #t0 {{display: none}}}}</style>
<rect width="100%" height="100%" rx="9" fill="{back}"/>
<g fill="#484f58"><circle cx="20" cy="18" r="6"/><circle cx="40" cy="18" r="6"/><circle cx="60" cy="18" r="6"/></g>
<svg x="16" y="34" width="{inner}">
{drawn}
</svg>
</svg>
"""
LINKS = re.compile(r"\x1b\]8;[^\x1b]*\x1b\\")
PAUSE, TYPED, WAIT = 0.8, 0.045, 0.7  # seconds before typing, for each letter, and before the output


def on_terminal(arguments: list[str], folder: Path, home: Path) -> list[Text]:
    """Run `cdesearch` on a pseudo-terminal, say yes to a question, and return the lines that it shows."""
    import pty  # not on Windows

    terminal, side = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "xterm-256color", "PAGER": "cat"}
    environment |= {"COLUMNS": str(COLUMNS), "LINES": "50", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    streams = {"stdin": side, "stdout": side, "stderr": side}
    command = [sys.executable, "-m", "cdesearch", *arguments]
    with subprocess.Popen(command, cwd=folder, env=environment, **streams):
        os.close(side)
        printed = b""
        try:
            while piece := os.read(terminal, 10_000):
                printed += piece
                if printed.endswith(b"]: "):
                    os.write(terminal, b"y\n")
        except OSError:  # the end, on Linux
            pass
    os.close(terminal)
    lines = LINKS.sub("", printed.decode()).replace(str(folder.parent) + "/", "~/").rstrip().splitlines()
    texts = (Text.from_ansi(line.rpartition("\r")[2].rstrip()) for line in lines)
    return [row for text in texts for row in text.wrap(Console(), COLUMNS) or [text]][: ROWS - 1]


def letters(line: Text, row: int) -> str:
    """The SVG of one line, a text for each style in it."""
    drawn, column = [], 0
    for text, given, _ in line.render(Console(width=COLUMNS, force_terminal=True)):
        style = given or Style.null()
        if text.strip():
            colour = DIM if style.dim else COLOURS.get(style.color.number if style.color else None, PLAIN)
            weight = ' font-weight="bold"' if style.bold else ""
            place = f'x="{column * WIDTH:.1f}" y="{row * HEIGHT}" textLength="{len(text) * WIDTH:.1f}"'
            drawn.append(f'<text {place} fill="{colour}"{weight}>{escape(text)}</text>')
        column += len(text)
    return "".join(drawn)


def scene(number: int, command: str, lines: list[Text]) -> str:
    """The command, a cover that moves away from it while it is typed, and the output."""
    typed = letters(Text.assemble(("$ ", "bold"), (command, "bold")), 1)
    cover = (
        f'<rect id="t{number}" x="{2 * WIDTH}" y="2" width="{COLUMNS * WIDTH}" height="{HEIGHT + 3}" fill="{BACK}"/>'
    )
    output = "".join(letters(line, row) for row, line in enumerate(lines, 2))
    return f'<g id="s{number}">{typed}{cover}<g id="o{number}">{output}</g></g>'


def rules(number: int, command: str, moments: list[float], total: float) -> str:
    """The rules of CSS that show a scene from the first of five moments to the last, all in seconds of the film."""
    a, b, c, d, e = (f"{100 * moment / total:.2f}%" for moment in moments)
    still = "hidden" if number else "visible"  # programs that play no films show the first scene
    away = f"{len(command) * WIDTH:.1f}px"
    return f"""
@keyframes s{number} {{0% {{visibility: hidden}} {a} {{visibility: visible}} {e}, 100% {{visibility: hidden}}}}
@keyframes t{number} {{0%, {b} {{transform: none; animation-timing-function: steps({len(command)})}}
  {c}, 100% {{transform: translateX({away})}}}}
@keyframes o{number} {{0%, {c} {{opacity: 0}} {d}, 100% {{opacity: 1}}}}
#s{number} {{visibility: {still}; animation: s{number} {total:.2f}s step-end infinite}}
#t{number} {{animation: t{number} {total:.2f}s linear infinite}}
#o{number} {{animation: o{number} {total:.2f}s step-end infinite}}"""


def main() -> None:
    """Print the film."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, home = Path(temporary) / "docs", Path(temporary) / "home"
        home.mkdir()
        shutil.copytree(DOCS, folder, ignore=lambda _, names: [name for name in names if not name.endswith(".md")])
        outputs = [on_terminal(arguments, folder, home) for arguments, _ in SCENES]
    commands = [f"cdesearch {shlex.join(arguments)}".replace("'", '"') for arguments, _ in SCENES]
    times, start = [], 0.0
    for command, (_, seconds) in zip(commands, SCENES, strict=True):
        typed = start + PAUSE + TYPED * len(command)
        times.append([start, start + PAUSE, typed, typed + WAIT, typed + WAIT + seconds])
        start = times[-1][-1]
    film = list(enumerate(zip(commands, outputs, times, strict=True)))
    style = "".join(rules(number, command, moments, start) for number, (command, _, moments) in film)
    drawn = "\n".join(scene(number, command, lines) for number, (command, lines, _) in film)
    sizes = {
        "width": f"{COLUMNS * WIDTH + 32:.0f}",
        "height": str(ROWS * HEIGHT + 52),
        "inner": f"{COLUMNS * WIDTH:.1f}",
    }
    sys.stdout.write(FRAME.format(**sizes, back=BACK, style=style, drawn=drawn))


if __name__ == "__main__":
    main()
