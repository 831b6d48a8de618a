"""The published checkpoints of pplx-embed: the plain model, and the context model, which reads whole documents."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdesearch.models.family import TOKENIZER, LoadedModel, Network, hash_files
from cdesearch.models.pplx.folder import MODEL_TYPE, SEPARATOR, PplxModel, joins_chunks, read_folder


class PplxFamily:
    """A folder with config.json, model.safetensors and tokenizer.json, as downloaded."""

    needs_torch = True
    needs_transformers = True
    is_exported = False
    reads_corpus = False

    def detect(self, fields: Mapping[str, Any]) -> bool:
        return fields.get("model_type") == MODEL_TYPE

    def describe(self, fields: Mapping[str, Any]) -> str | None:
        return "pplx-embed, reads the chunks of a document together" if joins_chunks(fields) else "pplx-embed"

    def dimension(self, folder: Path) -> int:
        return read_folder(folder).config.backbone.dimension

    def open(self, folder: Path) -> LoadedModel:
        model = read_folder(folder)
        files = [folder / name for name in ("config.json", "model.safetensors", TOKENIZER)]
        return LoadedModel(
            model.config,
            folder / TOKENIZER,
            hash_files(files),
            lambda: _load_network(folder, model),
            separator=SEPARATOR if model.joins_chunks else None,
        )


def _load_network(folder: Path, model: PplxModel) -> Network:
    from cdesearch.models.pplx.network import load_network

    return load_network(folder, model)
