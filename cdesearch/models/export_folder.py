"""What this machine knows of a model, in the user's cache folder: its ONNX export, and how fast it encodes."""

import hashlib
import json
import math
import os
import sys
from contextlib import suppress
from pathlib import Path

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import read_fields_text

VERSION = 2  # of the way in which exports are made
GRAPH, REFUSED, SPEED, CHECKSUM = "second_stage.onnx", "refused.json", "speed.json", "checksum.json"
# What a file raises that is missing, or that something else has written.
_UNREADABLE = (ModelError, OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError)


def export_folder(fingerprint: str) -> Path | None:
    """The folder of the export of a published model, which need not exist; None if this user has no home folder."""
    try:
        return _cache_folder() / "models" / f"{fingerprint}-{VERSION}"
    except RuntimeError:
        return None


def find_export(folder: Path | None) -> Path | None:
    """The folder if it contains an export that may be used, as it was written."""
    return folder if folder is not None and not folder.is_symlink() and _is_as_written(folder) else None


def write_checksum(folder: Path) -> None:
    """Record the graph of a finished export."""
    status = (folder / GRAPH).stat()
    record = {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": _sha256(folder / GRAPH)}
    (folder / CHECKSUM).write_text(json.dumps(record), encoding="utf-8")


def _is_as_written(folder: Path) -> bool:
    """Whether the graph is the one that was recorded. It is hashed only if its time differs, as in a copied cache."""
    try:
        record = json.loads(read_fields_text(folder / CHECKSUM))
        status = (folder / GRAPH).lstat()
        if record["size"] != status.st_size:
            return False
        return bool(record["mtime_ns"] == status.st_mtime_ns or record["sha256"] == _sha256(folder / GRAPH))
    except _UNREADABLE:
        return False


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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
