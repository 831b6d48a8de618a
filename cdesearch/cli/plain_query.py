"""Parse the arguments of a common query without typer, whose import takes longer than the answer of a server."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cdesearch.cli.query import QueryOptions

MODES = ("hybrid", "dense", "text")
FLAGS = ("--full", "--json")
VALUED = ("-k", "--mode", "--path", "--index")
MAX_DIGITS = 9  # digits of the value of -k


def read_plain(arguments: Sequence[str]) -> QueryOptions | None:
    """Parse the arguments of `cdesearch query` exactly as typer does; None if typer must parse them.

    Typer parses everything that is rare or invalid: other options, joined options such as `-k5`, and empty values.
    """
    words: list[str] = []
    given: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-"):
            words.append(argument)
            continue
        name, has_value, value = argument.partition("=") if argument.startswith("--") else (argument, "", "")
        if name in VALUED:
            given[name] = value if has_value else rest.pop(0) if rest else ""
        elif argument in FLAGS:
            given[argument] = "given"
        else:
            return None
    is_plain = bool(words) and _is_unicode("".join(arguments)) and _are_usable(given)
    return _options(" ".join(words), given) if is_plain else None


def _is_unicode(text: str) -> bool:
    return not any(0xD800 <= ord(character) <= 0xDFFF for character in text)


def _are_usable(given: dict[str, str]) -> bool:
    k = given.get("-k", "1")
    return (
        all(given.values())
        and given.get("--mode", "hybrid") in MODES
        and k.isascii()
        and k.isdigit()
        and len(k) <= MAX_DIGITS
        and int(k) >= 1
    )


def _options(text: str, given: dict[str, str]) -> QueryOptions:
    mode = given.get("--mode", "hybrid")
    options = QueryOptions(
        text,
        mode="dense" if mode == "dense" else "text" if mode == "text" else "hybrid",
        path=given.get("--path"),
        index=Path(given["--index"]) if "--index" in given else None,
        full="--full" in given,
        format="json" if "--json" in given else "text",
    )
    return replace(options, k=int(given["-k"])) if "-k" in given else options
