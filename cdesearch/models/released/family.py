"""The CDE checkpoints that the paper's authors have released, jxm/cde-small-v1 and jxm/cde-small-v2."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdesearch.errors import ModelError
from cdesearch.models.contextual.family import DEFAULT_MODEL
from cdesearch.models.family import TOKENIZER, LoadedModel, hash_files
from cdesearch.models.hub import V2_TOKENIZER, cached_file


class ReleasedFamily:
    """config.json with `embedder`, and model.safetensors, as downloaded."""

    needs_torch = True

    def detect(self, fields: Mapping[str, Any]) -> bool:
        """By the field that names the second stage's backbone."""
        return "embedder" in fields

    def describe(self, fields: Mapping[str, Any]) -> str | None:  # noqa: ARG002 (all of them can be run)
        """The same for all."""
        return "released CDE checkpoint"

    def open(self, folder: Path) -> LoadedModel:
        """The vectors are the published ones, without statistics and document context."""
        from cdesearch.models.released.folder import in_our_words, open_released

        model = open_released(folder)
        tokenizer = _tokenizer(folder, is_v2=model.config.variant == "v2")
        fingerprint = hash_files([folder / "config.json", folder / "model.safetensors", tokenizer])
        return LoadedModel(in_our_words(model.config), tokenizer, fingerprint, lambda: model)


def _tokenizer(folder: Path, *, is_v2: bool) -> Path:
    """The folder's own, or the one that the checkpoint was trained with; raises ModelError.

    v1 was trained with the tokenizer of bert-base-uncased, which is also the default model's.
    """
    own = folder / TOKENIZER
    if own.is_file():
        return own
    found = cached_file(V2_TOKENIZER, TOKENIZER) if is_v2 else DEFAULT_MODEL / TOKENIZER
    if found is None:
        raise ModelError(
            f"{folder} has no {TOKENIZER}; the checkpoint is published without.",
            f"Copy that of {V2_TOKENIZER} there: `hf download {V2_TOKENIZER} {TOKENIZER} --local-dir {folder}`.",
        )
    return found
