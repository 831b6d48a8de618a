"""Reading the fields of a published config.json: what we know is checked, what we do not support is named."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdesearch.errors import ModelError
from cdesearch.model.files import read_fields_text

AGAIN = "Download it again."
MOST = 100_000_000  # of anything that a network counts: tokens, dimensions, positions
MOST_LAYERS = 1_000  # a network is put together layer by layer
_LARGEST = 1e30
REMEDY = "Take the config.json that was published with the weights."


def read_fields(file: Path) -> dict[str, Any]:
    """A JSON object; of a file that is not there, an empty one. Raises ModelError."""
    try:
        fields = json.loads(read_fields_text(file))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{file} cannot be read ({error}).", AGAIN) from None
    if not isinstance(fields, dict):
        raise ModelError(f"{file} holds no fields.", AGAIN)
    return fields


def whole_number(fields: Mapping[str, Any], name: str, default: int, most: int = MOST) -> int:
    """A positive whole number up to `most`, `default` where the field is absent or null; raises ModelError."""
    value = fields.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ModelError(f"{name} is {value!r:.40} and has to be a positive whole number up to {most:,}.", REMEDY)
    return value


def number(fields: Mapping[str, Any], name: str, default: float, *, least: float | None = None) -> float:
    """A number above 0, or not below `least`; `default` where the field is absent or null; raises ModelError."""
    value = fields.get(name)
    if value is None:
        return default
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST
    if not is_number or not (value > 0 if least is None else value >= least):
        bound = "above 0" if least is None else f"of {least:g} or more"
        raise ModelError(f"{name} is {value!r:.40} and has to be a number {bound}.", REMEDY)
    return float(value)


def refuse_unsupported(fields: Mapping[str, Any], supported: Mapping[str, tuple[Any, ...]], whose: str) -> None:
    """Raise ModelError, naming every field that changes the result and holds a value we do not compute."""
    wrong = [
        f"{name} = {fields[name]!r:.100}"
        for name in sorted(supported)
        if fields.get(name) not in (None, *supported[name])
    ]
    if wrong:
        raise ModelError(
            f"The config of {whose} asks for what is not supported: {', '.join(wrong)}.",
            "cdesearch computes BERT, NomicBERT and ModernBERT as they were first published, and CDE on the last two.",
        )


def check_heads(dimension: int, n_heads: int, names: tuple[str, str]) -> None:
    """Raise ModelError where the heads are not equal, or not of pairs that rotary embedding could turn."""
    if dimension % (2 * n_heads):
        raise ModelError(
            f"{names[0]} = {dimension} cannot be cut into {names[1]} = {n_heads} heads of an even dimension.", REMEDY
        )
