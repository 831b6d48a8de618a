"""Print text, tables and JSON, and make text from files safe for a terminal."""

import json
import os
import sys
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

# Control characters (Cc) can control the terminal, surrogates (Cs) cannot be encoded, and line and paragraph
# separators (Zl, Zp) break a line. Format characters (Cf) can reverse the direction of a line or hide text.
_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# These format characters are allowed. Some scripts and emoji need joiners, and a soft hyphen is harmless.
_JOINERS = {"\u00ad", "\u200c", "\u200d", "\u2060"}
MIN_COLUMN = 16  # the minimum width of the widest column; on a narrower terminal, rows are printed as lines


def printable(text: str) -> str:
    """`text` with every unsafe character, including tabs, replaced by an escape sequence such as `\\x1b`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(character) for character in text)


def counted(number: int, noun: str) -> str:
    """A number with its noun in the singular or plural, such as "1 chunk" or "1,234 chunks"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def note(line: str) -> None:
    """Write a line to stderr at once."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def open_console(*, stderr: bool = False, soft_wrap: bool = False) -> "Console":
    """A rich console on stdout or stderr that prints markup such as "[red]" or ":bomb:" literally."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=soft_wrap)


def is_styled(stream: TextIO) -> bool:
    """Whether rich would write colours and links to `stream`, without importing rich in common cases."""
    if "FORCE_COLOR" in os.environ or "TTY_COMPATIBLE" in os.environ:
        return open_console(stderr=stream is sys.stderr).is_terminal
    return stream.isatty()


def print_rows(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of cells in columns.

    On a narrow terminal the widest column is wrapped. On a very narrow terminal each row is printed as a line of text.
    """
    from textwrap import fill

    from rich.table import Table
    from rich.text import Text

    console = open_console()
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if not console.is_terminal:
        for row in rows:
            cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
            sys.stdout.write("  ".join(cells).rstrip() + "\n")
        return
    if sum(widths) - max(widths) + 2 * len(widths) + MIN_COLUMN > console.width:
        for row in rows:
            line = "  ".join(cell.strip() for cell in row)
            sys.stdout.write(fill(line, console.width, subsequent_indent="  ", break_on_hyphens=False) + "\n")
        return
    grid = Table.grid(padding=(0, 2))
    for row in rows:
        grid.add_row(*map(Text, row))
    for column, width in zip(grid.columns, widths, strict=True):
        column.overflow, column.no_wrap = "fold", width < max(widths)
    console.print(grid)


def print_text(text: str) -> None:
    """Print one paragraph, wrapped between words on a terminal."""
    console = open_console()
    console.print(text, soft_wrap=not console.is_terminal)


def print_json(value: Any) -> None:
    """Print a JSON value on stdout. On a terminal, or if stdout is not UTF-8, the output is pure ASCII.

    Otherwise unsafe characters are escaped, because the next program of a pipe may print them on a terminal.
    """
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=sys.stdout.isatty() or not is_utf8)
    if not text.isascii():
        text = "".join(json.dumps(part)[1:-1] if _is_unsafe(part) else part for part in text)
    sys.stdout.write(text + "\n")


def _is_unsafe(character: str) -> bool:
    return character not in _JOINERS and unicodedata.category(character) in _UNSAFE


def _escaped(character: str) -> str:
    if not _is_unsafe(character):
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
