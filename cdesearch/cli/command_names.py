"""Find out which command the first arguments of a command line name."""

from collections.abc import Collection, Sequence
from importlib.metadata import EntryPoint, entry_points

OWN = ("query", "ask", "status", "models", "trust")
SYNONYMS = {"search": "query"}  # names that other programs use for the same command


def registered_commands() -> list[EntryPoint]:
    """Return the commands that other packages register, without importing them."""
    return list(entry_points(group="cdesearch.commands"))


def command_names() -> set[str]:
    """Return the names of all commands, including those that other packages register."""
    return {*OWN, *(entry.name for entry in registered_commands())}


def with_command(arguments: list[str], commands: Collection[str]) -> list[str]:
    """Return the arguments with the name of a command at the start.

    `cdesearch words ...` means `cdesearch query words ...`, even if options precede the words. `cdesearch help` and
    `cdesearch help COMMAND` mean the option --help.
    """
    if arguments[:1] == ["help"] and (len(arguments) == 1 or (len(arguments) == 2 and arguments[1] in commands)):
        return [*arguments[1:], "--help"]
    if not arguments or arguments[0] in {"--help", "--version"} or arguments[0] in commands:
        return arguments
    if arguments[0].startswith("-"):
        return arguments if set(commands).intersection(arguments) else ["query", *arguments]
    return ["query", *arguments]


def meant_command(arguments: Sequence[str], commands: Collection[str]) -> str | None:
    """Return the command whose name resembles the first word; None if the word is a command or resembles none."""
    word = next(iter(arguments), "-")
    if word.startswith("-") or word in commands or word == "help":
        return None
    from difflib import get_close_matches

    return SYNONYMS.get(word) or next(iter(get_close_matches(word, commands, n=1, cutoff=0.7)), None)
