"""Exports of published models to ONNX, in the user's cache folder. A model with one needs neither torch nor a library.

The first build with a model writes the export, and compares its vectors with those of torch on texts of the corpus. An
export that differs too much is not used, and this is recorded, so that it is not tried again.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from cdesearch.encode.backends.onnx import OnnxRuntime
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.runtime import Unexported

VERSION = 3  # of the way in which exports are made
GRAPH, REFUSED = "second_stage.onnx", "refused.json"
UNFINISHED = ".unfinished-"  # the beginning of the name of a folder in which an export is made
ABANDONED_SECONDS = 3600.0  # since such a folder has changed
CHECKED_TEXTS = 200
LEAST_COSINE = 0.98  # the mean of the texts; of the default model's int8 export it is .993


def export_folder(fingerprint: str) -> Path | None:
    """The folder of the export of a published model, which need not exist; None if this user has no home folder."""
    if sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "cdesearch" / "cache"
        return cache / "models" / f"{fingerprint}-{VERSION}"
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        cache = configured if configured.is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        return None
    return cache / "cdesearch" / "models" / f"{fingerprint}-{VERSION}"


def find_export(folder: Path | None) -> Path | None:
    """The folder if it contains an export."""
    return folder if folder is not None and (folder / GRAPH).is_file() else None


def export(encoder: Encoder, model: Unexported, texts: Sequence[str]) -> str | None:
    """Export a model, and use the export if it agrees with torch on `texts`; returns a line for the user if not."""
    scratch = None
    try:
        model.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in model.folder.parent.glob(f"{UNFINISHED}*"):  # what exports have left that were killed long ago
            if time.time() - folder.stat().st_mtime > ABANDONED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
        scratch = Path(mkdtemp(dir=model.folder.parent, prefix=UNFINISHED))
        from cdesearch.encode.backends.onnx_export import write_biencoder

        write_biencoder(model.network, encoder.dimension, scratch / GRAPH)
        exported = encoder.on(OnnxRuntime(scratch, encoder.dimension))
        exact, found = (one.encode(texts, "document", None) for one in (encoder, exported))
        cosine = float(np.sum(exact * found, axis=1).mean())
        if cosine >= LEAST_COSINE:
            with (scratch / GRAPH).open("rb+") as graph:
                os.fsync(graph.fileno())
            _put_in_place(scratch, model.folder)
            encoder.use_runtime(OnnxRuntime(model.folder, encoder.dimension))
            return None
        (scratch / GRAPH).unlink()
        (scratch / REFUSED).write_text(json.dumps({"cosine": round(cosine, 4)}), encoding="utf-8")
        _put_in_place(scratch, model.folder)
        return f"The model runs on torch: its int8 export has a cosine of {cosine:.3f} to it, below {LEAST_COSINE}."
    except Exception as error:  # the exporter's, the runtime's and the system's share no root
        reason = (str(error).strip() or type(error).__name__).partition("\n")[0]
        return f"The model runs on torch, because it cannot be exported to ONNX ({reason:.200})."
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def _put_in_place(scratch: Path, folder: Path) -> None:
    """Make `scratch` the export in `folder`, unless another process has finished the same one meanwhile."""
    if find_export(folder) is None:
        shutil.rmtree(folder, ignore_errors=True)  # what is left of an export
    try:
        scratch.replace(folder)
    except OSError:
        if find_export(folder) is None:
            raise
