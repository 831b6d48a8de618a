"""Start a command: prepare the standard streams, and run a common query without typer.

The import of typer takes longer than the answer of a server.
"""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Any

from cdesearch.cli.command_names import OWN, check_installed, command_names, meant_command, with_command
from cdesearch.cli.config_files import NEVER_OF_PROJECTS, check_sections, config_files
from cdesearch.cli.exits import run_and_exit
from cdesearch.cli.query_options import QueryOptions
from cdesearch.search.options import EXCLUSIVE, FLAGS, OPTIONS, VALUED, Option
from cdesearch.store.place import parse_place

MAX_DIGITS = 9  # digits of a number
# The types of the values in configuration files that are read here, by the kind of the option
PLAIN: dict[str, type] = {"number": int, "choice": str, "flag": bool}
# Commands that are not looked up among the entry points of all installed packages, which takes longer than a query.
USUAL_SECTIONS = {*OWN, "clear", "config", "doctor", "index", "mcp", "serve", "sources", "train", "tui", "watch"}


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
    if arguments is not None:
        from cdesearch.cli.query import run_query

        configured = with_plain_defaults(arguments)
        options = None if configured is None else read_plain(configured)
        if options is not None:
            return run_query(options)
    from cdesearch.cli.main import run

    return run()


def _query_arguments(arguments: list[str]) -> list[str] | None:
    """The arguments of a query, without the word `query`, which is optional.

    Returns None for another command, and for a first word that resembles a command.
    """
    if arguments[:1] == ["query"]:
        return arguments[1:]
    commands = command_names()
    check_installed(arguments, commands)
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


def with_plain_defaults(arguments: Sequence[str]) -> list[str] | None:
    """The arguments after those that stand for the options of configuration files; None if typer must parse.

    Only numbers, choices and flags are read here. `config` reads and checks all others.
    """
    files = config_files()
    if not files:
        return list(arguments)
    if not {name for file in files for name in file.sections} <= USUAL_SECTIONS:
        check_sections(files, command_names())
    by_key = {option.key: option for option in OPTIONS}
    typed = {argument.partition("=")[0] for argument in arguments}
    taken = {key for key, option in by_key.items() if typed.intersection(option.names)}
    taken |= {EXCLUSIVE[key] for key in taken & EXCLUSIVE.keys()}
    configured: list[str] = []
    for file in files:
        own = {key: value for key, value in file.sections.get("query", {}).items() if key not in taken}
        if any(not _is_plain(by_key.get(key), value) for key, value in file.sections.get("query", {}).items()):
            return None
        for key, value in own.items():
            first, *second = by_key[key].names
            configured += [first, str(value)] if by_key[key].kind != "flag" else [first] if value else second
        taken |= own.keys() | {EXCLUSIVE[key] for key in own.keys() & EXCLUSIVE.keys() if own[key]}
    return [*configured, *arguments]


def _is_plain(option: Option | None, value: object) -> bool:
    if option is None or option.key in NEVER_OF_PROJECTS or isinstance(value, bool) != (option.kind == "flag"):
        return False
    return isinstance(value, PLAIN.get(option.kind, ())) and value != ""
