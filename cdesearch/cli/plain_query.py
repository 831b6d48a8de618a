"""Parse the arguments of a common query without typer, whose import takes longer than the answer of a server."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

from cdesearch.cli.command_names import FLAGS, OWN, VALUED, command_names
from cdesearch.cli.config_files import check_sections, config_files
from cdesearch.cli.query_options import MAX_CONTEXT, Format, QueryOptions
from cdesearch.store.place import parse_place

MODES = ("hybrid", "rerank", "dense", "text")
MAX_DIGITS = 9  # digits of a number
RARE = ("--model", "--min-confidence")  # typer parses them
# Options of a configuration file that are read here. Files with others are left to typer.
PLAIN_NUMBERS = ("-k", "-C")
PLAIN_CHOICES = ("--mode", "--format")
PLAIN_FLAGS = ("--full", "--json", "--group", "--no-pager", "--rerank")
EXCLUSIVE = ("--json", "--format")
# Commands that are not looked up among the entry points of all installed packages, which takes longer than a query.
USUAL_SECTIONS = {*OWN, "clear", "config", "doctor", "index", "mcp", "serve", "sources", "train", "tui", "watch"}


def read_plain(arguments: Sequence[str]) -> QueryOptions | None:
    """Parse the arguments of `cdesearch query` exactly as typer does; None if typer must parse them.

    Typer parses everything that is rare or invalid: other options, joined options such as `-k5`, and empty values.
    """
    words: list[str] = []
    given: dict[str, list[str]] = {}
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-"):
            words.append(argument)
            continue
        name, has_value, value = argument.partition("=") if argument.startswith("--") else (argument, "", "")
        if name in VALUED and name not in RARE:
            given.setdefault(name, []).append(value if has_value else rest.pop(0) if rest else "")
        elif argument in FLAGS:
            given.setdefault(argument, []).append("given")
        else:
            return None
    is_plain = bool(words) and _is_unicode("".join(arguments)) and _are_usable(given)
    return _options(" ".join(words), given) if is_plain else None


def with_plain_defaults(arguments: Sequence[str]) -> list[str] | None:
    """Return the arguments after those that stand for the options of configuration files; None if typer must parse.

    Only options with simple values are read here. `configured` reads and checks all others.
    """
    files = config_files()
    if not files:
        return list(arguments)
    if not {name for file in files for name in file.sections} <= USUAL_SECTIONS:
        check_sections(files, command_names())
    given = {argument.partition("=")[0].replace("--no-group", "--group") for argument in arguments}
    configured: list[str] = []
    for file in files:
        for key, value in file.sections.get("query", {}).items():
            name = f"-{key}" if len(key) == 1 else f"--{key}"
            if not _is_plain(name, value):
                return None
            if name not in given and not (name in EXCLUSIVE and given.intersection(EXCLUSIVE)):
                configured += _as_typed(name, value)
        given.update(argument.replace("--no-group", "--group") for argument in configured)
    return [*configured, *arguments]


def _is_plain(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return name in PLAIN_FLAGS
    if isinstance(value, int):
        return name in PLAIN_NUMBERS
    return name in PLAIN_CHOICES and isinstance(value, str) and bool(value)


def _as_typed(name: str, value: object) -> list[str]:
    if isinstance(value, bool):
        return [name] if value else ["--no-group"] if name == "--group" else []
    return [name, str(value)]


def _is_unicode(text: str) -> bool:
    return not any(0xD800 <= ord(character) <= 0xDFFF for character in text)


def _are_usable(given: dict[str, list[str]]) -> bool:
    return (
        all(all(values) for values in given.values())
        and not {"--group", "--no-group"} <= given.keys()
        and not ("--json" in given and "--format" in given)
        and all(value in MODES for value in given.get("--mode", ()))
        and all(value in get_args(Format) for value in given.get("--format", ()))
        and all(_is_number(value) and int(value) >= 1 for value in given.get("-k", ()))
        and all(_is_number(value) and int(value) <= MAX_CONTEXT for value in given.get("-C", ()))
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS


def _options(text: str, given: dict[str, list[str]]) -> QueryOptions:
    last = {name: values[-1] for name, values in given.items()}
    format = "json" if "--json" in given else last.get("--format", "text")
    options = QueryOptions(
        text,
        k=int(last["-k"]) if "-k" in last else None,
        paths=tuple(given.get("--path", ())),
        types=tuple(given.get("--type", ())),
        since=last.get("--since"),
        indexes=tuple(map(parse_place, given.get("--index", ()))),
        full="--full" in given,
        context=int(last.get("-C", "0")),
        group=True if "--group" in given else False if "--no-group" in given else None,
        has_pager="--no-pager" not in given,
        opens="--open" in given,
        update="--update" in given,
    )
    mode = "rerank" if "--rerank" in given else last.get("--mode", "hybrid")
    checked: Any = {"mode": mode, "format": format}  # `_are_usable` has checked both values
    return replace(options, **checked)
