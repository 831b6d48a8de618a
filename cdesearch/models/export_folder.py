"""The ONNX exports of published models in the user's cache folder."""

import json
import os
import sys
from pathlib import Path

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import read_fields_text

VERSION = 3  # of the way in which exports are made
GRAPH, REFUSED, SIZE = "second_stage.onnx", "refused.json", "size.json"
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


def _cache_folder() -> Path:
    """The cache folder of cdesearch; raises RuntimeError if this user has no home folder."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "cdesearch" / "cache"
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (configured if configured.is_absolute() else Path.home() / ".cache") / "cdesearch"
