"""Start a command: prepare the standard streams, and run a common query without importing typer."""

import os
import sys
from io import TextIOWrapper

from cdesearch.cli.exits import run_and_exit


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
        from cdesearch.cli.plain_query import read_plain, with_plain_defaults
        from cdesearch.cli.query import run_query

        configured = with_plain_defaults(arguments)
        options = None if configured is None else read_plain(configured)
        if options is not None:
            return run_query(options)
    from cdesearch.cli.main import run

    return run()


def _query_arguments(arguments: list[str]) -> list[str] | None:
    """Return the arguments of a query, without the word `query`, which is optional.

    Returns None for another command, and for a first word that resembles a command.
    """
    if arguments[:1] == ["query"]:
        return arguments[1:]
    from cdesearch.cli.command_names import check_installed, command_names, meant_command, with_command

    commands = command_names()
    check_installed(arguments, commands)
    name, *rest = with_command(arguments, commands) or [""]
    return rest if name == "query" and meant_command(arguments, commands) is None else None
