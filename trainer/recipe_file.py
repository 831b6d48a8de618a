"""Reading the TOML file of a recipe, with overrides, and saying what is wrong with it."""

import os
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from cdesearch.errors import InputError
from trainer.plain_file import open_plain
from trainer.schema import Problem, SchemaError, parse

EXAMPLES = "The folder trainer/recipes of the source code has examples."

R = TypeVar("R")


def read_recipe_file(file: Path, overrides: Mapping[str, str]) -> dict[str, Any]:
    """The tables of a recipe; `overrides` are `section.key`, or `section.table.key`, to TOML values.

    Raises InputError.
    """
    try:
        with open_plain(file) as stream:
            values = tomllib.load(stream)
    except FileNotFoundError:
        raise InputError(f"There is no file {file}.", EXAMPLES) from None
    except (OSError, ValueError, RecursionError) as error:  # ValueError: also for bad UTF-8, numbers and file names
        raise InputError(f"{file} is not a recipe ({error}).", EXAMPLES) from None
    for name, text in overrides.items():
        *tables, key = name.split(".")
        keys = values
        for table in tables:
            if not isinstance(keys := keys.setdefault(table, {}), dict):
                raise InputError(f"{file}: {table} is not a table.", EXAMPLES)
        keys[key] = _value(name, text)
    return values


def parse_recipe(kind: type[R], values: Mapping[str, Any], file: Path, documented: str) -> R:
    """The recipe of a `kind` with these values; raises an InputError that names `file` and the nearest known key.

    `documented` is a sentence on where every key is explained.
    """
    try:
        return parse(kind, values)
    except SchemaError as error:
        # An unknown key is reported first: it is often the reason why another one is missing.
        worst = min(error.problems, key=lambda found: found.known is None)
        raise InputError(f"{file}: {_explained(worst)}.", documented) from None


def parse_override(text: str) -> tuple[str, str]:
    """`section.key=value` as key and value; raises InputError."""
    name, found, value = text.partition("=")
    if not found:
        raise InputError(f"--set {text} has no value.", "Write --set section.key=value.")
    if "." not in name or not all(name.split(".")):
        raise InputError(f"--set {text} does not name a key of a section.", "Write --set section.key=value.")
    return name, value


def found(paths: list[Path]) -> list[Path]:
    """The paths; one that does not exist is looked for in the folder that CDESEARCH_DATA names."""
    root = Path(os.environ.get("CDESEARCH_DATA", "."))
    return [root / path if not path.exists() and (root / path).exists() else path for path in paths]


def _value(name: str, text: str) -> Any:
    """The TOML value of an override. Text that is not TOML is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    except (ValueError, RecursionError) as error:
        raise InputError(f"--set {name} has a value that cannot be read ({error}).", "Write a shorter value.") from None


def _explained(problem: Problem) -> str:
    key = ".".join(problem.location)
    if problem.known is None:
        return f"{key}: {problem.message}"
    nearest = get_close_matches(problem.location[-1], problem.known, n=1, cutoff=0.5)
    return f"there is no {key}" + (f" (did you mean {nearest[0]}?)" if nearest else "")
