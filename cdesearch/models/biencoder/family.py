"""Published biencoders: folders of sentence-transformers, and backbones alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdesearch.models.biencoder.folder import read_folder
from cdesearch.models.family import TOKENIZER, LoadedModel, ModelFamily, hash_files, lazily

# Files besides config, weights and tokenizer that the vectors depend on.
_SETTINGS = (
    "modules.json",
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
)
_UNSTATED_POOLING = (
    "does not state how the states of tokens are pooled. Their mean is used, as sentence-transformers does."
)


class BiencoderFamily(ModelFamily):
    """Any model that the library transformers contains. Vectors are scaled to length 1."""

    needs_transformers = True
    is_exported = True

    def detect(self, fields: Mapping[str, Any]) -> bool:
        # In old sentence-transformers folders config.json is in a sub-folder, so there are no fields.
        return "model_type" in fields or not fields

    def describe(self, fields: Mapping[str, Any]) -> str:
        return f"biencoder ({fields['model_type']!s:.40})" if "model_type" in fields else "biencoder"

    def dimension(self, folder: Path) -> int:
        return read_folder(folder).config.backbone.dimension

    def open(self, folder: Path) -> LoadedModel:
        model = read_folder(folder)
        inner = model.transformer
        files = [inner / "config.json", inner / "model.safetensors", inner / TOKENIZER]
        files += sorted({parent / name for name in _SETTINGS for parent in (folder, inner)})
        files += [layer.folder / name for layer in model.dense for name in ("config.json", "model.safetensors")]
        return LoadedModel(
            model.config,
            inner / TOKENIZER,
            hash_files(files, "".join(model.card_prefixes)),
            lazily("cdesearch.models.biencoder.network:load_network", folder, model),
            remark=None if model.states_pooling else f"{folder} {_UNSTATED_POOLING}",
        )
