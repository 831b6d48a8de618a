"""A sentence-transformers folder: which modules it names, and what they ask for."""

import json
from pathlib import Path
from typing import Any

from cdesearch.errors import ModelError
from cdesearch.model.biencoder import Biencoder, Pooling, load_backbone
from cdesearch.model.config import NO_STATISTICS, ModelConfig
from cdesearch.model.files import read_fields_text
from cdesearch.model.published_fields import AGAIN, read_fields, refuse_unsupported, whole_number
from cdesearch.model.published_weights import read_weights

MODULES, PROMPTS, POOLING = "modules.json", "config_sentence_transformers.json", "1_Pooling"
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")  # in the order in which sentence-transformers looks for them
_UNKNOWN_LENGTH = 1_000_000  # what tokenizers say that know no limit
_OTHER = "Take a model of a Transformer, mean or cls Pooling, and Normalize."


def open_biencoder(folder: Path) -> tuple[Biencoder, ModelConfig]:
    """Read a sentence-transformers folder into fp32; raises ModelError. Nothing is downloaded, no code of it runs.

    No statistics, no weight for a chunk's document: the vectors are those of sentence-transformers, normalised.
    """
    try:
        modules = _modules(folder)
        transformer = folder / modules.get("Transformer", "")
        pooling = _pooling(read_fields(folder / modules.get("Pooling", POOLING) / "config.json"))
        query, document = _prompts(read_fields(folder / PROMPTS), "Normalize" in modules)
        backbone, shapes = load_backbone(read_fields(transformer / "config.json"), read_weights(transformer))
        config = ModelConfig(
            shapes,
            statistics=NO_STATISTICS,
            document_weight=0.0,
            max_tokens=min(shapes.n_positions, _max_tokens(transformer)),
            query_prefix=query,
            document_prefix=document,
        )
    except ModelError as error:
        raise ModelError(f"{folder} cannot be loaded: {error.cause}", error.remedy) from None
    return Biencoder(backbone, pooling), config


def transformer_folder(folder: Path) -> Path:
    """Where config, weights and tokenizer lie: in old folders not at the top. Raises ModelError."""
    return folder / _modules(folder).get("Transformer", "")


def _modules(folder: Path) -> dict[str, str]:
    """The kind and folder of every module, in order; raises ModelError for those that are not supported."""
    file = folder / MODULES
    if not file.is_file():
        return {}  # a backbone as published: sentence-transformers takes the mean of its states
    try:
        modules = {_kind(str(part["type"])): str(part["path"]) for part in json.loads(read_fields_text(file))}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(f"{file} cannot be read ({error!r:.200}).", AGAIN) from None
    if any(Path(path).is_absolute() or ".." in Path(path).parts for path in modules.values()):
        raise ModelError(f"{file} names a folder outside of its own.", AGAIN)
    if unknown := [kind for kind in modules if kind not in ("Transformer", "Pooling", "Normalize")]:
        raise ModelError(f"{file} names what is not supported: {', '.join(unknown)}.", _OTHER)
    return modules


def _kind(module: str) -> str:
    """The class's name, where it is the library's own; its modules have moved about."""
    return module.rpartition(".")[2] if module.startswith("sentence_transformers.") else module


def _pooling(fields: dict[str, Any]) -> Pooling:
    """From the one field of today or the many of before; raises ModelError for other kinds, and several together."""
    if fields.get("include_prompt") is False:
        raise ModelError("The pooling leaves the prompt out (include_prompt = False): not supported.", _OTHER)
    named = fields.get("pooling_mode")
    asked = [str(named)] if isinstance(named, str) else [str(mode) for mode in named or []]
    if named is None:
        start = "pooling_mode_"
        asked = [
            name.removeprefix(start).removesuffix("_tokens")
            for name in fields
            if name.startswith(start) and fields[name]
        ]
        asked = [mode.removesuffix("_token") for mode in asked]
    match asked:
        case [] | ["mean"]:
            return "mean"
        case ["cls"]:
            return "cls"
    raise ModelError(f"Pooling by {' and '.join(asked)} is not supported.", _OTHER)


def _prompts(fields: dict[str, Any], is_normalised: bool) -> tuple[str, str]:
    """What stands before queries and before documents; raises ModelError where vectors are not for cosines."""
    if not is_normalised:
        refuse_unsupported(fields, {"similarity_fn_name": ("cosine",)}, "sentence-transformers")
    prompts: Any = fields.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(prompt, str) for prompt in prompts.values()):
        raise ModelError(f"{PROMPTS} has prompts that are no text by name.", AGAIN)
    default: str = prompts.get(fields.get("default_prompt_name") or "", "")
    document: str = next((prompts[name] for name in _DOCUMENT_PROMPTS if name in prompts), default)
    return prompts.get("query", default), document


def _max_tokens(transformer: Path) -> int:
    fields = read_fields(transformer / "sentence_bert_config.json")
    supported = {"do_lower_case": (False,), "transformer_task": ("feature-extraction",)}
    refuse_unsupported(fields, supported, "sentence-transformers")
    limit = read_fields(transformer / "tokenizer_config.json").get("model_max_length")
    known = min(int(limit), _UNKNOWN_LENGTH) if isinstance(limit, int | float) else _UNKNOWN_LENGTH
    return whole_number(fields, "max_seq_length", known)
