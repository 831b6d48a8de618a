"""Read what users type: errors of typer in one sentence with a remedy, probabilities, and answers to questions."""

from collections.abc import Sequence
from typing import Any

import typer

from cdesearch.errors import InputError

# Typer contains its own copy of click. This is the only public way to reach its error for invalid options.
UsageError: Any = typer.BadParameter.__mro__[1]

ASKING = (" query", " ask")  # the commands whose words may look like options
BEFORE_WORDS = "To ask about it, write `--` before your words. "
EMPTIED = ("--include", "--exclude", "--query-prefix", "--document-prefix")


def usage_error(error: Any, command: str) -> InputError:
    """The error for an invalid option or argument of `command`. `error` is a UsageError of typer."""
    help_command = error.ctx.command_path if error.ctx else f"cdesearch {command}".strip()
    cause = error.format_message().replace(" Value error, ", " ").removesuffix(".")
    searches = cause.startswith("No such option") and help_command.endswith(ASKING)
    return InputError(f"{cause}.", f"{BEFORE_WORDS if searches else ''}See `{help_command} --help`.")


def check_not_empty(arguments: Sequence[str]) -> None:
    """Raise InputError for an empty argument or value, which pathlib would treat as the working directory.

    The commands are `index` and `mine`. Empty values of EMPTIED are meant: they remove what the index stores.
    """
    for before, argument in zip(["", *arguments], arguments, strict=False):
        is_named = argument.endswith("=") and argument.count("=") == 1
        option = argument.removesuffix("=") if is_named else "" if argument else before
        if option.startswith("-") and option not in EMPTIED:
            raise InputError(f"The value of {option} is empty.", "Give one, or leave the option out.")
        if not argument and option not in EMPTIED:
            raise InputError("An argument is empty.", "Name a folder or file. The working directory is `.`.")


def parse_probability(given: str | float) -> float:
    """The probability that is typed as 0.3 or 30%, or is a number of a file; raises typer's error for anything else."""
    number = str(given).strip()
    try:
        value = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        value = float("nan")
    if not 0 <= value <= 1:
        raise typer.BadParameter(f"must be a number from 0 to 1, or a percentage such as 30%, not {number[:40]}")
    return value


def agrees(question: str, *, default: bool = False, err: bool = False) -> bool:
    """Ask the user at the terminal, with `err` on stderr. Returns False without an answer; raises KeyboardInterrupt."""
    try:
        return typer.confirm(question, default=default, err=err)
    except typer.Abort as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        typer.echo(err=True)  # the cursor is still in the line of the question
        return False
