"""Check the files of a checkpoint before a library opens them, because a checkpoint may come from anywhere.

Links are followed, because the cache of huggingface_hub consists of links. The target of a link must be a plain file.
Of the fields of a published config.json, known values are checked, and unsupported values are refused by name.
"""

import json
import stat
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cdesearch.errors import ModelError

DEFAULT_MODEL = Path(__file__).parents[1] / "default_model"  # the checkpoint that ships
MAX_CONFIG_BYTES = 16_000_000  # of a JSON file of settings; published files have a few thousand
MAX_TOKENIZER_BYTES = 100_000_000  # the largest published tokenizers have some 35 million
AGAIN = "Copy the checkpoint again."
FILES = ("config.json", "model.safetensors", "tokenizer.json")  # of a checkpoint of cdesearch
GRAPHS = ("onnx/second_stage.onnx", "onnx/first_stage.onnx", "onnx/cache.onnx")  # which it may have beside them
DOWNLOAD_AGAIN = "Download it again."
MAX_COUNT = 100_000_000  # of tokens, dimensions, positions and the like
MAX_LAYERS = 1_000  # more would take too long to build, one layer after another
_LARGEST = 1e30
REMEDY = "Take the config.json that was published with the weights."


def check_plain(file: Path, max_bytes: int | None = None) -> None:
    """Raise ModelError if `file` exists and is not a plain file, or has more than `max_bytes`.

    Reading a pipe would never end. A missing file passes: the code that reads it reports it.
    """
    try:
        found = file.stat()
    except OSError:
        return
    if not stat.S_ISREG(found.st_mode):
        raise ModelError(f"{file} is not a plain file.", AGAIN)
    if max_bytes is not None and found.st_size > max_bytes:
        raise ModelError(
            f"{file} is larger than {max_bytes:,} bytes, the limit for such a file of a checkpoint.", AGAIN
        )


def weights_file(folder: Path, weights_hash: str) -> Path:
    """`model.safetensors` of a folder; if it has none, the file with these weights in the package cdesearch-weights."""
    own = folder / "model.safetensors"
    package = None if own.exists() else find_spec("cdesearch_weights")
    places = [] if package is None else package.submodule_search_locations or []
    found = [Path(place) / f"{weights_hash}.safetensors" for place in places]
    return next((file for file in found if file.exists()), own)


def read_fields_text(file: Path) -> str:
    """The text of a JSON file of settings; raises OSError, UnicodeDecodeError or ModelError."""
    check_plain(file, MAX_CONFIG_BYTES)
    return file.read_bytes().decode("utf-8")


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
    """A number of at least `minimum`, or above 0; `default` if the field is absent or null. Raises ModelError."""
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
