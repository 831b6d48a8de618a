"""Show text through a pager if it has more rows than the terminal."""

import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from cdesearch.terminal import open_console

if TYPE_CHECKING:
    from rich.console import Console

NoPagerOption = Annotated[bool, typer.Option("--no-pager", help="Use no pager ($PAGER or less) for long output.")]

_LINK = re.compile(r"\x1b\]8;[^\x1b]*\x1b\\")  # older versions of less print the escape sequences of links
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


class _Terminal(io.StringIO):
    """A text that is printed as on a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def paged(*, has_pager: bool) -> Iterator[None]:
    """Show what the block prints on stdout as `page` does with `has_pager`, if stdout is a terminal."""
    if not has_pager or not sys.stdout.isatty():
        yield
        return
    text = _Terminal()
    try:
        with redirect_stdout(text):
            yield
    finally:
        page(text.getvalue(), open_console(), has_pager=True)


def page(text: str, console: "Console", *, has_pager: bool) -> None:
    """Print a text for `console`, through $PAGER or less if `has_pager` and it does not fit on the terminal.

    The pager is not run by a shell. It quits at once if the text fits on one screen.
    """
    command = _command() if has_pager and _rows(text, console.width) >= console.height else None
    if command is None or not _is_shown_by(command, _LINK.sub("", text)):
        sys.stdout.write(text)


def _command() -> list[str] | None:
    """The command of the pager; None if the user wants none or if none is installed."""
    chosen = os.environ.get("PAGER")
    try:
        command = ["less"] if chosen is None else shlex.split(chosen)
    except ValueError:  # quotes without an end
        return None
    if not command or command == ["cat"] or shutil.which(command[0]) is None:
        return None
    return command


def _rows(text: str, width: int) -> int:
    from rich.cells import cell_len

    lines = _STYLE.sub("", _LINK.sub("", text)).splitlines()
    return sum(max(1, -(-cell_len(line) // width)) for line in lines)


def _is_shown_by(command: list[str], text: str) -> bool:
    """Run the pager, and return whether it could be started. Ctrl-C is for the pager while it runs."""
    environment = {"LESS": "FRX", "LV": "-c"} | dict(os.environ)  # as git sets them
    sys.stdout.flush()
    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    except OSError:
        return False
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with suppress(BrokenPipeError):  # the user has quit the pager before its end
            pager.communicate(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
        pager.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return True
