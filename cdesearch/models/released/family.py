"""The CDE checkpoints that the paper's authors have released, jxm/cde-small-v1 and jxm/cde-small-v2."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import DEFAULT_MODEL
from cdesearch.models.family import TOKENIZER, LoadedModel, ModelFamily, hash_files
from cdesearch.models.hub import V2_TOKENIZER, cached_file


class ReleasedFamily(ModelFamily):
    """A folder with config.json and model.safetensors, as downloaded. Vectors are the published ones."""

    title = "released CDE checkpoint"
    reads_corpus = True

    def detect(self, fields: Mapping[str, Any]) -> bool:
        return "embedder" in fields  # the name of the second stage's backbone

    def dimension(self, folder: Path) -> int:  # noqa: ARG002 (all of them have the same)
        return 768

    def open(self, folder: Path) -> LoadedModel:
        from cdesearch.models.released.model import as_model_config, open_released

        model = open_released(folder)
        tokenizer = _tokenizer(folder, is_v2=model.config.variant == "v2")
        fingerprint = hash_files([folder / "config.json", folder / "model.safetensors", tokenizer])
        return LoadedModel(as_model_config(model.config), tokenizer, fingerprint, lambda: model)


def _tokenizer(folder: Path, *, is_v2: bool) -> Path:
    """The tokenizer in the folder, else the tokenizer that the checkpoint was trained with; raises ModelError.

    v1 was trained with the tokenizer of bert-base-uncased, which is also the default model's.
    """
    own = folder / TOKENIZER
    if own.is_file():
        return own
    found = cached_file(V2_TOKENIZER, TOKENIZER) if is_v2 else DEFAULT_MODEL / TOKENIZER
    if found is None:
        raise ModelError(
            f"{folder} has no {TOKENIZER}; the checkpoint is published without one.",
            f"Add that of {V2_TOKENIZER}: `hf download {V2_TOKENIZER} {TOKENIZER} --local-dir {folder}`.",
        )
    return found
