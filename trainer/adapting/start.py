"""The model of an index as the start, if it can be adapted."""

from pathlib import Path

from cdesearch.errors import InputError
from cdesearch.models.checkpoint_files import DEFAULT_MODEL
from cdesearch.models.config import ModelConfig
from cdesearch.models.contextual.family import ContextualFamily
from cdesearch.models.endpoint_model import EndpointModel
from cdesearch.models.registry import family_of
from cdesearch.store.index import Index

REMEDY = "Adapt an index of the model that ships, or of a checkpoint that `cdesearch train` wrote."


def start_of(index: Index) -> Path:
    """The checkpoint folder of the model that built an index.

    Raises ModelError, IndexUntrustedError, and InputError for a model that cannot be adapted.
    """
    index.require_trust(folders=False)
    model = index.model_to_open
    if isinstance(model, EndpointModel):
        raise InputError("The model of this index is on a server, and cannot be trained here.", REMEDY)
    folder = Path(model) if model is not None else DEFAULT_MODEL
    if not isinstance(family_of(folder), ContextualFamily):
        raise InputError(f"The model of this index, {folder}, is not a checkpoint of cdesearch.", REMEDY)
    config = ModelConfig.load(folder)
    if config.context_attention == "joint" or config.context_source != "pooled":
        raise InputError(f"The model of this index, {folder}, is an experiment that adapt does not train.", REMEDY)
    if family_of(folder).open(folder).fingerprint != index.manifest.model_fingerprint:
        raise InputError(
            f"The model in {folder} has changed since the index was built.",
            "Index with it first: cdesearch index --rebuild.",
        )
    return folder
