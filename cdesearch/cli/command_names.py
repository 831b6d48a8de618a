"""Which command the first words of a command line name."""

from collections.abc import Collection, Sequence
from importlib.metadata import EntryPoint, entry_points

OWN = ("query", "ask", "status", "models", "trust")
SYNONYMS = {"search": "query"}  # names that other programs use


def registered_commands() -> list[EntryPoint]:
    """The commands that other packages register; none of them is imported."""
    return list(entry_points(group="cdesearch.commands"))


def command_names() -> set[str]:
    """The names of all commands."""
    return {*OWN, *(entry.name for entry in registered_commands())}


def with_command(arguments: list[str], commands: Collection[str]) -> list[str]:
    """`cdesearch words ...` means `cdesearch query words ...`, also if options come first."""
    if arguments[:1] == ["help"] and (len(arguments) == 1 or (len(arguments) == 2 and arguments[1] in commands)):
        return [*arguments[1:], "--help"]
    if not arguments or arguments[0] in {"--help", "--version"} or arguments[0] in commands:
        return arguments
    if arguments[0].startswith("-"):
        return arguments if set(commands).intersection(arguments) else ["query", *arguments]
    return ["query", *arguments]


def meant_command(arguments: Sequence[str], commands: Collection[str]) -> str | None:
    """The command whose name resembles the first word, if that is not a command itself."""
    word = next(iter(arguments), "-")
    if word.startswith("-") or word in commands or word == "help":
        return None
    from difflib import get_close_matches

    return SYNONYMS.get(word) or next(iter(get_close_matches(word, commands, n=1, cutoff=0.7)), None)
