"""Find out which command the arguments of a command line name."""

from collections.abc import Collection, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from cdesearch.search.options import VALUED

OWN = ("query", "ask", "eval", "status", "models", "trust", "indexes", "install-agent", "open", "completion")
SYNONYMS = {"search": "query"}  # names that other programs use for the same command
COMPLETING = "_CDESEARCH_COMPLETE"  # the environment variable with which a shell asks for completions
ABOUT = ("--help", "-h", "--version")  # options without a command


@cache  # each search reads files of all installed packages
def registered_commands() -> tuple[EntryPoint, ...]:
    """The commands that other packages register, without importing them."""
    return tuple(entry_points(group="cdesearch.commands"))


def command_names() -> set[str]:
    """The names of all commands, including those that other packages register."""
    return {*OWN, *(entry.name for entry in registered_commands())}


def with_command(arguments: list[str], commands: Collection[str]) -> list[str]:
    """The arguments with the name of a command at the start.

    `cdesearch words ...` means `cdesearch query words ...`. Options may precede the name of a command and the words of
    a query. `cdesearch open words` is a query unless the first word is a number. `cdesearch help`, and `help` or
    `--help` before the name of a command, mean the option --help.
    """
    is_help = len(arguments) == 2 and arguments[0] in ("help", "--help", "-h") and arguments[1] in commands
    if is_help or arguments == ["help"]:
        return [*arguments[1:], "--help"]
    is_open = arguments[:1] == ["open"] and len(arguments) > 1
    if is_open and not (arguments[1].startswith("-") or arguments[1].isdigit()):
        return ["query", *arguments]
    if not arguments or arguments[0] in ABOUT or arguments[0] in commands:
        return arguments
    first = first_word(arguments)
    if first is not None and arguments[first] in commands:
        return [arguments[first], *arguments[:first], *arguments[first + 1 :]]
    return ["query", *arguments]


def first_word(arguments: Sequence[str]) -> int | None:
    """The position of the first argument that is neither an option nor the value of one; None if none is."""
    position = 0
    while position < len(arguments):
        argument = arguments[position]
        if argument == "--":
            return None
        if not argument.startswith("-"):
            return position
        position += 2 if argument in VALUED else 1
    return None


def meant_command(arguments: Sequence[str], commands: Collection[str]) -> str | None:
    """The command whose name resembles the first word; None if the word is a command or resembles none."""
    word = next(iter(arguments), "-")
    if word.startswith("-") or word in commands or word == "help":
        return None
    from difflib import get_close_matches

    return SYNONYMS.get(word) or next(iter(get_close_matches(word, commands, n=1, cutoff=0.7)), None)
