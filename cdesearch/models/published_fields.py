"""Read the fields of a published config.json: known values are checked, unsupported values are refused by name."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import read_fields_text

DOWNLOAD_AGAIN = "Download it again."
MAX_COUNT = 100_000_000  # of tokens, dimensions, positions and the like
MAX_LAYERS = 1_000  # more would take too long to build, one layer after another
_LARGEST = 1e30
REMEDY = "Take the config.json that was published with the weights."


def read_fields(file: Path) -> dict[str, Any]:
    """The fields of a JSON file; none if it does not exist. Raises ModelError."""
    try:
        fields = json.loads(read_fields_text(file))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{file} cannot be read ({error}).", DOWNLOAD_AGAIN) from None
    if not isinstance(fields, dict):
        raise ModelError(f"{file} is not a JSON object.", DOWNLOAD_AGAIN)
    return fields


def whole_number(fields: Mapping[str, Any], name: str, default: int, maximum: int = MAX_COUNT) -> int:
    """A positive whole number up to `maximum`; `default` if the field is absent or null. Raises ModelError."""
    value = fields.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= maximum:
        raise ModelError(f"{name} is {value!r:.40} and has to be a positive whole number up to {maximum:,}.", REMEDY)
    return value


def number(fields: Mapping[str, Any], name: str, default: float, *, minimum: float | None = None) -> float:
    """A number of at least `minimum`, or above 0 without it; `default` if the field is absent or null.

    Raises ModelError.
    """
    value = fields.get(name)
    if value is None:
        return default
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST
    if not is_number or not (value > 0 if minimum is None else value >= minimum):
        bound = "above 0" if minimum is None else f"of {minimum:g} or more"
        raise ModelError(f"{name} is {value!r:.40} and has to be a number {bound}.", REMEDY)
    return float(value)


def refuse_unsupported(fields: Mapping[str, Any], supported: Mapping[str, tuple[Any, ...]], subject: str) -> None:
    """Raise a ModelError that names every field of `supported` with a value that is not among its supported ones.

    An absent field or null is always supported. `subject` is what the config describes.
    """
    wrong = [
        f"{name} = {fields[name]!r:.100}"
        for name in sorted(supported)
        if fields.get(name) not in (None, *supported[name])
    ]
    if wrong:
        raise ModelError(
            f"The config of {subject} has values that are not supported: {', '.join(wrong)}.",
            "cdesearch supports BERT, NomicBERT and ModernBERT as first published, and CDE on the last two.",
        )
