"""The registry of model families, and the family of a checkpoint folder."""

from pathlib import Path

from cdesearch.errors import ModelError
from cdesearch.models.biencoder.family import BiencoderFamily
from cdesearch.models.checkpoint_files import read_fields
from cdesearch.models.contextual.family import ContextualFamily
from cdesearch.models.family import ModelFamily
from cdesearch.models.pplx.family import PplxFamily
from cdesearch.models.released.family import ReleasedFamily

# The first family that detects a folder opens it.
FAMILIES: list[ModelFamily] = [ReleasedFamily(), ContextualFamily(), PplxFamily(), BiencoderFamily()]


def family_of(folder: Path) -> ModelFamily:
    """The family of a checkpoint folder, recognised by its config.json alone; raises ModelError."""
    if not folder.is_dir():
        raise ModelError(
            f"{folder} is not a checkpoint: there is no such folder.",
            "Check the spelling. The id of a model on huggingface.co has the form ORG/NAME.",
        )
    file = folder / "config.json"
    if not file.is_file() and not (folder / "modules.json").is_file():
        raise ModelError(f"{folder} is not a checkpoint: it has no config.json.", "Name a checkpoint folder.")
    fields = read_fields(file)
    for family in FAMILIES:
        if family.detect(fields):
            return family
    raise ModelError(
        f"{file} does not belong to a checkpoint that cdesearch can read: it has no format (a checkpoint of cdesearch),"
        " embedder (a released CDE model) or model_type (a biencoder).",
        "Name the folder of such a model.",
    )
