"""Whose checkpoint is in a folder?"""

from pathlib import Path
from typing import Literal

from cdesearch.errors import ModelError
from cdesearch.models.published_fields import read_fields

Family = Literal["own", "released", "biencoder"]
BIENCODERS = {  # those that can be run, by model_type
    "bert": "biencoder on BERT",
    "nomic_bert": "biencoder on NomicBERT",
    "modernbert": "biencoder on ModernBERT",
}


def family_of(folder: Path) -> Family:
    """Told by the config alone: ours, a released CDE model, or a plain biencoder. Raises ModelError."""
    if not folder.is_dir():
        raise ModelError(f"{folder} is no checkpoint: there is no such folder.", "Check the spelling.")
    file = folder / "config.json"
    if not file.is_file() and not (folder / "modules.json").is_file():
        raise ModelError(f"{folder} is no checkpoint: it has no config.json.", "Name a checkpoint folder.")
    fields = read_fields(file)
    if "embedder" in fields:
        return "released"
    if "format" in fields or "backbone" in fields:
        return "own"
    if "model_type" in fields or not fields:
        return "biencoder"
    raise ModelError(
        f"{file} is of no checkpoint that cdesearch knows: it has neither format (ours), embedder (a released CDE"
        " model) nor model_type (a biencoder).",
        "Name the folder of one of these.",
    )
