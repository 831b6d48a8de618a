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
    """A sentence-transformers folder, or the folder of a backbone alone. Vectors are scaled to length 1."""

    needs_torch = True
    reads_corpus = False

    def detect(self, fields: Mapping[str, Any]) -> bool:
        # In old sentence-transformers folders config.json is in a sub-folder, so there are no fields.
        return "model_type" in fields or not fields

    def describe(self, fields: Mapping[str, Any]) -> str | None:
        backbone = BACKBONES.get(str(fields.get("model_type")))
        return None if backbone is None else f"biencoder on {backbone}"

    def open(self, folder: Path) -> LoadedModel:
        from cdesearch.models.biencoder.folder import open_biencoder, transformer_folder

        network, config = open_biencoder(folder)
        inner = transformer_folder(folder)
        files = [inner / "config.json", inner / "model.safetensors", inner / TOKENIZER]
        files += sorted({parent / name for name in _SETTINGS for parent in (folder, inner)})
        return LoadedModel(config, inner / TOKENIZER, hash_files(files), lambda: network)
