"""Printing: text from files made safe for a terminal, tables, paragraphs and JSON."""

import json
import os
import sys
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

# Control characters (Cc) are commands to the terminal, surrogates (Cs) cannot be encoded, and line and paragraph
# separators (Zl, Zp) break one line into two. Format characters (Cf) can reverse the direction of a line or hide text.
_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# Scripts and emoji need the format characters below to join letters or keep them apart; a soft hyphen is harmless.
_JOINERS = {"\u00ad", "\u200c", "\u200d", "\u2060"}
MIN_COLUMN = 16  # characters that the widest column of a table must have; a narrower terminal gets lines instead


def printable(text: str) -> str:
    """`text` with every unsafe character, tabs included, written as an escape such as `\\x1b`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(character) for character in text)


def counted(number: int, noun: str) -> str:
    """A number with its noun, such as "1 chunk" or "1,234 chunks"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def open_console(*, stderr: bool = False, soft_wrap: bool = False) -> "Console":
    """A console of rich on stdout or stderr that changes no text: "[red]" and ":bomb:" are printed as they are."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=soft_wrap)


def is_styled(stream: TextIO) -> bool:
    """Whether rich writes colours and links to `stream`, found out without importing it."""
    if "FORCE_COLOR" in os.environ or "TTY_COMPATIBLE" in os.environ:
        return open_console(stderr=stream is sys.stderr).is_terminal
    return stream.isatty()


def print_rows(rows: Sequence[Sequence[str]]) -> None:
    """Print cells in columns. A narrow terminal wraps the widest column, a very narrow one shows each row as a line."""
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
    """Print one JSON value on stdout; in pure ASCII on a terminal, and if stdout is not UTF-8."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(value, ensure_ascii=sys.stdout.isatty() or not is_utf8) + "\n")


def _escaped(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in _UNSAFE:
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
