"""Start a command: prepare the standard streams, and run a common query without typer.

The import of typer takes longer than the answer of a server.
"""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Any

from cdesearch.cli.command_names import command_names, meant_command, with_command
from cdesearch.cli.config_files import config_files
from cdesearch.cli.exits import run_and_exit
from cdesearch.cli.query_options import QueryOptions
from cdesearch.search.options import FLAGS, VALUED, Option
from cdesearch.store.place import parse_place

MAX_DIGITS = 9  # digits of a number


def main() -> None:
    """Run the command line and end the process."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # If the caller has closed a standard stream, the next file to be opened would get its descriptor.
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 (open to the end)
    # A character that the encoding of stdout lacks is printed as an escape sequence instead of raising an error.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    run_and_exit(_run)


def _run() -> int | None:
    arguments = _query_arguments(sys.argv[1:])
    # Typer reads the options of configuration files.
    options = None if arguments is None or config_files() else read_plain(arguments)
    if options is not None:
        from cdesearch.cli.query import run_query

        return run_query(options)
    from cdesearch.cli.main import run

    return run()


def _query_arguments(arguments: list[str]) -> list[str] | None:
    """The arguments of a query without the word `query`; None for a command, and for a word that resembles one."""
    if arguments[:1] == ["query"]:
        return arguments[1:]
    commands = command_names()
    name, *rest = with_command(arguments, commands) or [""]
    return rest if name == "query" and meant_command(arguments, commands) is None else None


def read_plain(arguments: Sequence[str]) -> QueryOptions | None:
    """Parse the arguments of `cdesearch query` exactly as typer does; None if typer must parse them.

    Typer parses everything that is rare or invalid: other options, joined options such as `-k5`, and empty values.
    Raises what `QueryOptions.of` raises.
    """
    words: list[str] = []
    given: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-"):
            words.append(argument)
            continue
        name, has_value, value = argument.partition("=") if argument.startswith("--") else (argument, "", "")
        if name in VALUED:
            option, text = VALUED[name], value if has_value else rest.pop(0) if rest else ""
            read = _read(option, text)
            if read is None:
                return None
            given[option.field] = [*given.get(option.field, ()), read] if option.is_repeated else read
        elif argument in FLAGS:
            option, is_on = FLAGS[argument], argument == FLAGS[argument].names[0]
            if given.setdefault(option.field, is_on) is not is_on:
                return None
        else:
            return None
    if not (words or "regex" in given) or any(0xD800 <= ord(character) <= 0xDFFF for character in "".join(arguments)):
        return None
    return QueryOptions.of(" ".join(words), given)


def _read(option: Option, text: str) -> Any:
    """The value that a text means; None if typer must read it."""
    if option.kind == "number":
        is_number = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
        is_within = is_number and (option.least or 0) <= int(text) <= (
            int(text) if option.most is None else option.most
        )
        return int(text) if is_within else None
    if not text or option.kind not in ("text", "choice", "place") or (option.choices and text not in option.choices):
        return None
    return parse_place(text) if option.kind == "place" else text
