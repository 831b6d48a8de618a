"""What this machine knows of a model, in the user's cache folder: its ONNX export, and how fast it encodes."""

import json
import math
import os
import sys
from contextlib import suppress
from pathlib import Path

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import read_fields_text

VERSION = 3  # of the way in which exports are made
GRAPH, REFUSED, SPEED, SIZE = "second_stage.onnx", "refused.json", "speed.json", "size.json"
# What a file raises that is missing, or that something else has written.
_UNREADABLE = (ModelError, OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError)


def export_folder(fingerprint: str) -> Path | None:
    """The folder of the export of a published model, which need not exist; None if this user has no home folder."""
    try:
        return _cache_folder() / "models" / f"{fingerprint}-{VERSION}"
    except RuntimeError:
        return None


def find_export(folder: Path | None) -> Path | None:
    """The folder if it contains a whole export."""
    if folder is None or folder.is_symlink():
        return None
    try:
        size = json.loads(read_fields_text(folder / SIZE))["size"]
        return folder if size == (folder / GRAPH).lstat().st_size else None
    except _UNREADABLE:
        return None


def write_size(folder: Path) -> None:
    """Record the size of the graph of a finished export, so that a graph that is cut off is not used."""
    (folder / SIZE).write_text(json.dumps({"size": (folder / GRAPH).stat().st_size}), encoding="utf-8")


def is_refused(folder: Path) -> bool:
    """Whether an export was made before and not used."""
    return (folder / REFUSED).is_file()


def write_speed(folder: Path, texts_per_second: float) -> None:
    """Record how many texts of a corpus the export has encoded in a second on this machine."""
    text = json.dumps({"texts_per_second": round(texts_per_second, 1)})
    (folder / SPEED).write_text(text, encoding="utf-8")


def record_speed(fingerprint: str, texts_per_second: float) -> None:
    """Record the speed of a model, unless this user's cache has no folder of exports or cannot be written.

    Only published models make that folder. With the model that ships alone, a build writes nothing into the home
    folder.
    """
    folder = export_folder(fingerprint)
    if folder is not None and folder.parent.is_dir():
        with suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            write_speed(folder, texts_per_second)


def read_speed(folder: Path | None) -> float | None:
    """What `write_speed` recorded; None if there is nothing to read."""
    if folder is None:
        return None
    try:
        speed = float(json.loads(read_fields_text(folder / SPEED))["texts_per_second"])
    except _UNREADABLE:
        return None
    return speed if 0 < speed < math.inf else None


def _cache_folder() -> Path:
    """The cache folder of cdesearch; raises RuntimeError if this user has no home folder."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "cdesearch" / "cache"
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (configured if configured.is_absolute() else Path.home() / ".cache") / "cdesearch"
