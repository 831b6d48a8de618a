"""Check the files of a checkpoint before a library opens them, because a checkpoint may come from anywhere.

Links are followed, because the cache of huggingface_hub consists of links. The target of a link must be a plain file.
"""

import os
import stat
from importlib.util import find_spec
from pathlib import Path

from cdesearch.errors import ModelError

DEFAULT_MODEL = Path(__file__).parents[1] / "default_model"  # the checkpoint that ships
MAX_CONFIG_BYTES = 16_000_000  # of a JSON file of settings; published files have a few thousand
MAX_TOKENIZER_BYTES = 100_000_000  # the largest published tokenizers have some 35 million
AGAIN = "Copy the checkpoint again."
FILES = ("config.json", "model.safetensors", "tokenizer.json")  # of a checkpoint of cdesearch
GRAPHS = ("onnx/second_stage.onnx", "onnx/first_stage.onnx", "onnx/cache.onnx")  # which it may have beside them


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
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(file, flags), "rb") as stream:
        return stream.read(MAX_CONFIG_BYTES).decode("utf-8")
