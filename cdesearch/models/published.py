"""Checkpoints that others have published, on torch: released CDE models and plain biencoders."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cdesearch.encode.backends.torch import TorchRuntime, pick_device
from cdesearch.errors import ModelError
from cdesearch.models.biencoder.folder import open_biencoder, transformer_folder
from cdesearch.models.config import ModelConfig
from cdesearch.models.hub import TOKENIZER, V2_TOKENIZER, cached_file
from cdesearch.models.released.folder import in_our_words, open_released

# What else than config, weights and tokenizer a biencoder's vectors hang on.
_SETTINGS = (
    "modules.json",
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
)


@dataclass(frozen=True, slots=True)
class Foreign:
    """A checkpoint, ready to run."""

    config: ModelConfig
    runtime: TorchRuntime
    tokenizer: Path
    fingerprint: str  # hash of every file that was read


def open_foreign(folder: Path, family: Literal["released", "biencoder"], device: str, bert_tokenizer: Path) -> Foreign:
    """Read a folder of one of the two families; raises ModelError. Nothing is downloaded, no code of it runs.

    `bert_tokenizer` is that of bert-base-uncased: cde-small-v1 is published without.
    """
    where = pick_device(device)
    if family == "released":
        model = open_released(folder)
        tokenizer = _released_tokenizer(folder, bert_tokenizer, is_v2=model.config.variant == "v2")
        files = [folder / "config.json", folder / "model.safetensors", tokenizer]
        return Foreign(in_our_words(model.config), TorchRuntime(model, where), tokenizer, _fingerprint(files))
    biencoder, config = open_biencoder(folder)
    inner = transformer_folder(folder)
    files = [inner / "config.json", inner / "model.safetensors", inner / TOKENIZER]
    files += sorted({place / name for name in _SETTINGS for place in (folder, inner)})
    return Foreign(config, TorchRuntime(biencoder, where), inner / TOKENIZER, _fingerprint(files))


def _released_tokenizer(folder: Path, bert_tokenizer: Path, *, is_v2: bool) -> Path:
    """The one in the folder, or the one that the checkpoint was trained with; raises ModelError."""
    own = folder / TOKENIZER
    found = own if own.is_file() else cached_file(V2_TOKENIZER, TOKENIZER) if is_v2 else bert_tokenizer
    if found is None:
        raise ModelError(
            f"{folder} has no {TOKENIZER}; the checkpoint is published without.",
            f"Copy that of {V2_TOKENIZER} there: `hf download {V2_TOKENIZER} {TOKENIZER} --local-dir {folder}`.",
        )
    return found


def _fingerprint(files: list[Path]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        if file.is_file():
            with file.open("rb") as stream:
                digest.update(file.name.encode() + hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
