"""Read what users type: errors of typer in one sentence with a remedy, and probabilities, which typer cannot read."""

from collections.abc import Callable, Sequence
from typing import Any

import typer

from cdesearch.errors import InputError

PROBABILITY = "a number from 0 to 1, or a percentage such as 30%"

# Typer contains its own copy of click. This is the only public way to reach its error for invalid options.
UsageError: Any = typer.BadParameter.__mro__[1]

ASKING = (" query", " ask")  # the commands whose words may look like options
BEFORE_WORDS = "To ask about it, write `--` before your words. "
EMPTIED = ("--include", "--exclude", "--query-prefix", "--document-prefix")

# The condition that a number violates, by the type of the validation error.
_LIMITS: dict[str, Callable[[dict[str, Any]], str]] = {
    "greater_than_equal": lambda limits: f"at least {limits['ge']:,}",
    "less_than_equal": lambda limits: f"at most {limits['le']:,}",
    "greater_than": lambda limits: f"more than {limits['gt']:,}",
    "less_than": lambda limits: f"less than {limits['lt']:,}",
}


def usage_error(error: Any, command: str) -> InputError:
    """The error for an invalid option or argument of `command`. `error` is a UsageError of typer."""
    help_command = error.ctx.command_path if error.ctx else f"cdesearch {command}".strip()
    cause = _number(error) or error.format_message().replace(" Value error, ", " ").removesuffix(".")
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


def _number(error: Any) -> str | None:
    """The cause of an error about a number, such as "-k must be at least 1, not 0"; None for other errors."""
    problems = error.__cause__.errors() if hasattr(error.__cause__, "errors") else []
    if not problems or error.param is None:
        return None
    kind, typed = problems[0]["type"], problems[0]["input"]
    if str(typed).strip().lower() == "nan":
        wanted = "a number"
    elif kind in _LIMITS:
        wanted = _LIMITS[kind](problems[0]["ctx"])
    elif kind.startswith("int_"):
        wanted = "a whole number"
    elif kind.startswith("float_"):
        wanted = "a number"
    else:
        return None
    found = f"not {str(typed)[:40]}" if str(typed).strip() else "but it is empty"
    return f"{error.param.get_error_hint().strip(chr(39))} must be {wanted}, {found}"


def parse_probability(given: str | float) -> float:
    """The probability that is typed as 0.3 or 30%, or is a number of a configuration file.

    Raises typer's error for anything else.
    """
    number = str(given).strip()
    try:
        value = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        value = float("nan")
    if not 0 <= value <= 1:
        raise typer.BadParameter(f"must be {PROBABILITY}, not {number[:40]}")
    return value
