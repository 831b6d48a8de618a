"""Settings in TOML files, read into declared types by msgspec: overrides, and one error that names the key."""

import os
import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from cdesearch.errors import InputError

EXAMPLES = "The folder trainer/recipes of the source code has examples."

Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Share = Annotated[float, Meta(ge=0, le=1)]
Rate = Annotated[float, Meta(gt=0, le=10)]  # of Adam, whose steps are about as long as the rate
Temperature = Annotated[float, Meta(ge=0.001, le=1000)]  # logits of cosines are then at most 1,000
Seed = Annotated[int, Meta(ge=0, le=2**31 - 1)]

S = TypeVar("S", bound=Struct)


class Section(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a recipe."""


def read_recipe_file(file: Path, overrides: Mapping[str, str]) -> dict[str, Any]:
    """The tables of a recipe; `overrides` are `section.key`, or `section.table.key`, to TOML values.

    Raises InputError.
    """
    try:
        with file.open("rb") as stream:
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
        try:
            keys[key] = tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):  # text that is not TOML is a string
            keys[key] = text
    return values


def parse_override(text: str) -> tuple[str, str]:
    """`section.key=value` as key and value; raises InputError."""
    name, found, value = text.partition("=")
    if not found or "." not in name or not all(name.split(".")):
        raise InputError(f"--set {text} does not set a key of a section.", "Write --set section.key=value.")
    return name, value


def parse_recipe(kind: type[S], values: Mapping[str, Any], file: Path, documented: str) -> S:
    """The recipe of a `kind` with these values; raises an InputError that names `file`, and for a typo the nearest key.

    `documented` is a sentence on where every key is explained.
    """
    try:
        return msgspec.convert(values, kind, dec_hook=_path)
    except msgspec.ValidationError as error:
        raise InputError(f"{file}: {_explained(kind, str(error))}.", documented) from None


def to_plain(recipe: Struct) -> dict[str, Any]:
    """The recipe as tables, lists, strings and numbers that `parse_recipe` and JSON accept."""
    plain: dict[str, Any] = msgspec.to_builtins(recipe, enc_hook=str)
    return plain


def differences(one: Struct, other: Struct) -> list[str]:
    """`section.key: old -> new`, for each setting in which two recipes of a kind differ."""
    before, after = to_plain(one), to_plain(other)
    return [
        f"{section}.{key}: {before[section][key]} -> {value}"
        for section, keys in after.items()
        for key, value in keys.items()
        if before[section][key] != value
    ]


def found(paths: list[Path]) -> list[Path]:
    """The paths; one that does not exist is looked for in the folder that CDESEARCH_DATA names."""
    root = Path(os.environ.get("CDESEARCH_DATA", "."))
    return [root / path if not path.exists() and (root / path).exists() else path for path in paths]


def _path(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str | Path) and value != "" and "\0" not in str(value):
        return Path(value)
    raise ValueError("Expected a path")


def _explained(kind: Any, message: str) -> str:
    """A message of msgspec with the key in front."""
    reason, _, location = message.partition(" - at `$")
    key = location.strip(".`")
    if (unknown := re.fullmatch("Object contains unknown field `(.*)`", reason)) is None:
        return f"{key}: {reason}" if key else reason
    for name in filter(None, key.split(".")):
        kind = next(field.type for field in msgspec.structs.fields(kind) if field.name == name)
    nearest = get_close_matches(unknown[1], kind.__struct_fields__, n=1, cutoff=0.5)
    meant = f" (did you mean {nearest[0]}?)" if nearest else ""
    return f"there is no {'.'.join(filter(None, (key, unknown[1])))}{meant}"
