"""Checkpoints of this project, as training exports them."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import AGAIN, MAX_TOKENIZER_BYTES, check_plain
from cdesearch.models.config import ModelConfig
from cdesearch.models.family import TOKENIZER, LoadedModel, ModelFamily, lazily


class ContextualFamily(ModelFamily):
    """A folder with config.json, tokenizer.json, model.safetensors, and usually an ONNX export in onnx/."""

    title = "checkpoint of cdesearch"
    needs_torch = False
    reads_corpus = True

    def detect(self, fields: Mapping[str, Any]) -> bool:
        return "format" in fields or "backbone" in fields

    def dimension(self, folder: Path) -> int:
        return ModelConfig.load(folder).backbone.dimension

    def open(self, folder: Path) -> LoadedModel:
        config = ModelConfig.load(folder)
        tokenizer = folder / TOKENIZER
        check_plain(tokenizer, MAX_TOKENIZER_BYTES)
        if not tokenizer.is_file():
            raise ModelError(f"{folder} has no {TOKENIZER}.", AGAIN)
        # config.json contains a hash of the weights, so the fingerprint needs only that file and the tokenizer.
        digest = hashlib.blake2b((folder / "config.json").read_bytes(), digest_size=16)
        digest.update(tokenizer.read_bytes())
        onnx = folder / "onnx" if (folder / "onnx" / "second_stage.onnx").exists() else None
        load = lazily("cdesearch.models.contextual.model:load_checkpoint", folder)
        return LoadedModel(config, tokenizer, digest.hexdigest(), load, onnx)
