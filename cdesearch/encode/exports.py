"""Exports of published models to ONNX, in the user's cache folder. A model with one needs neither torch nor a library.

The first build with a model writes the export, and compares its vectors with those of torch on texts of the corpus. An
export that differs too much is not used, and this is recorded, so that it is not tried again.
"""

import json
import logging
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from cdesearch.encode.backends.onnx import OnnxRuntime
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.runtime import Unexported

CHECKED_TEXTS = 200
LEAST_COSINE = 0.98  # the mean of the texts; of the default model's int8 export it is .993
VERSION = 1  # of the way in which exports are made
GRAPH, REFUSED = "second_stage.onnx", "refused.json"


def export_folder(fingerprint: str) -> Path | None:
    """The folder of the export of a published model, which need not exist; None if this user has no home folder."""
    try:
        return _cache_folder() / "models" / f"{fingerprint}-{VERSION}"
    except RuntimeError:
        return None


def find_export(folder: Path | None) -> Path | None:
    """The folder if it contains an export that may be used."""
    return folder if folder is not None and (folder / GRAPH).is_file() else None


def is_refused(folder: Path) -> bool:
    """Whether an export was made before and not used."""
    return (folder / REFUSED).is_file()


def export(encoder: Encoder, model: Unexported, texts: Sequence[str]) -> str | None:
    """Export a model, and let the encoder use the export if it agrees with torch on `texts`.

    Returns a line for the user if it does not, or if the model cannot be exported.
    """
    scratch = None
    try:
        model.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        scratch = Path(mkdtemp(dir=model.folder.parent, prefix=".unfinished-"))
        with _quiet_export():
            from cdesearch.encode.backends.onnx_export import write_biencoder

            write_biencoder(model.network, encoder.dimension, scratch / GRAPH)
        runtime = OnnxRuntime(scratch, encoder.dimension)
        cosine = _agreement(encoder, runtime, texts)
        if cosine >= LEAST_COSINE:
            scratch.replace(model.folder)
            encoder.use_runtime(OnnxRuntime(model.folder, encoder.dimension))
            return None
        (scratch / GRAPH).unlink()
        (scratch / REFUSED).write_text(json.dumps({"cosine": round(cosine, 4)}), encoding="utf-8")
        scratch.replace(model.folder)
        return f"The model runs on torch: its int8 export has a cosine of {cosine:.3f} to it, below {LEAST_COSINE}."
    except Exception as error:  # the exporter's, the runtime's and the system's share no root
        reason = (str(error).strip() or type(error).__name__).partition("\n")[0]
        return f"The model runs on torch, because it cannot be exported to ONNX ({reason:.200})."
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def _agreement(encoder: Encoder, runtime: OnnxRuntime, texts: Sequence[str]) -> float:
    """The mean cosine of the vectors of texts on torch and by the export."""
    exact = encoder.encode(texts, "document", None)
    found = encoder.on(runtime).encode(texts, "document", None)
    return float(np.sum(exact * found, axis=1).mean())


def _cache_folder() -> Path:
    """The cache folder of cdesearch; raises RuntimeError if this user has no home folder."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "cdesearch" / "cache"
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (configured if configured.is_absolute() else Path.home() / ".cache") / "cdesearch"


@contextmanager
def _quiet_export() -> Iterator[None]:
    """Without the advice of the quantiser, which it logs as warnings."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)
