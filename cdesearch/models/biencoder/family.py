"""Models of sentence-transformers on a supported backbone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdesearch.models.family import TOKENIZER, LoadedModel, hash_files

BACKBONES = {"bert": "BERT", "nomic_bert": "NomicBERT", "modernbert": "ModernBERT"}  # by model_type

# Files besides config, weights and tokenizer that the vectors depend on.
_SETTINGS = (
    "modules.json",
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
)


class BiencoderFamily:
    """A folder of sentence-transformers, or a backbone alone."""

    needs_torch = True

    def detect(self, fields: Mapping[str, Any]) -> bool:
        """By `model_type`; old folders have config.json in a sub-folder, and so no fields here."""
        return "model_type" in fields or not fields

    def describe(self, fields: Mapping[str, Any]) -> str | None:
        """By its backbone."""
        backbone = BACKBONES.get(str(fields.get("model_type")))
        return None if backbone is None else f"biencoder on {backbone}"

    def open(self, folder: Path) -> LoadedModel:
        """The vectors are those of sentence-transformers, of length 1."""
        from cdesearch.models.biencoder.folder import open_biencoder, transformer_folder

        network, config = open_biencoder(folder)
        inner = transformer_folder(folder)
        files = [inner / "config.json", inner / "model.safetensors", inner / TOKENIZER]
        files += sorted({place / name for name in _SETTINGS for place in (folder, inner)})
        return LoadedModel(config, inner / TOKENIZER, hash_files(files), lambda: network)
