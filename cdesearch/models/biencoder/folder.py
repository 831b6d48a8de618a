"""Read a sentence-transformers folder: its modules and their settings."""

import json
from pathlib import Path
from typing import Any

from cdesearch.errors import ModelError
from cdesearch.models.biencoder.model import Biencoder, Pooling, load_backbone
from cdesearch.models.checkpoint_files import read_fields_text
from cdesearch.models.config import NO_STATISTICS, ModelConfig
from cdesearch.models.published_fields import DOWNLOAD_AGAIN, read_fields, refuse_unsupported, whole_number
from cdesearch.models.published_weights import read_weights

MODULES, PROMPTS, POOLING = "modules.json", "config_sentence_transformers.json", "1_Pooling"
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")  # in the order in which sentence-transformers looks for them
_UNKNOWN_LENGTH = 1_000_000  # tokenizers without a limit state at least this length
_OTHER = "Use a model of a Transformer, mean or cls Pooling, and optionally Normalize."


def open_biencoder(folder: Path) -> tuple[Biencoder, ModelConfig]:
    """Read a sentence-transformers folder into fp32; raises ModelError. Nothing is downloaded, and no code of it runs.

    The vectors are those of sentence-transformers, normalised: without whitening and without document context.
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
    """The folder of config, weights and tokenizer, which is a sub-folder of old models. Raises ModelError."""
    return folder / _modules(folder).get("Transformer", "")


def _modules(folder: Path) -> dict[str, str]:
    """The folder of every module by its kind, in order; raises ModelError for kinds that are not supported."""
    file = folder / MODULES
    if not file.is_file():
        return {}  # a backbone alone: sentence-transformers pools its states by the mean
    try:
        modules = {_kind(str(part["type"])): str(part["path"]) for part in json.loads(read_fields_text(file))}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(f"{file} cannot be read ({error!r:.200}).", DOWNLOAD_AGAIN) from None
    if any(Path(path).is_absolute() or ".." in Path(path).parts for path in modules.values()):
        raise ModelError(f"{file} names a folder outside of its own.", DOWNLOAD_AGAIN)
    if unknown := [kind for kind in modules if kind not in ("Transformer", "Pooling", "Normalize")]:
        raise ModelError(f"{file} names modules that are not supported: {', '.join(unknown)}.", _OTHER)
    return modules


def _kind(module: str) -> str:
    """The class name of a module of sentence-transformers, which has moved its classes; else the full name."""
    return module.rpartition(".")[2] if module.startswith("sentence_transformers.") else module


def _pooling(fields: dict[str, Any]) -> Pooling:
    """The pooling from the field `pooling_mode`, or from the older fields `pooling_mode_...`, one for each mode.

    Raises ModelError for other modes, and for several modes together.
    """
    if fields.get("include_prompt") is False:
        raise ModelError("The pooling excludes the prompt (include_prompt = False), which is not supported.", _OTHER)
    named = fields.get("pooling_mode")
    modes = [str(named)] if isinstance(named, str) else [str(mode) for mode in named or []]
    if named is None:
        start = "pooling_mode_"
        modes = [
            name.removeprefix(start).removesuffix("_tokens")
            for name in fields
            if name.startswith(start) and fields[name]
        ]
        modes = [mode.removesuffix("_token") for mode in modes]
    match modes:
        case [] | ["mean"]:
            return "mean"
        case ["cls"]:
            return "cls"
    raise ModelError(f"Pooling by {' and '.join(modes)} is not supported.", _OTHER)


def _prompts(fields: dict[str, Any], is_normalised: bool) -> tuple[str, str]:
    """The prefixes of queries and of documents; raises ModelError if vectors are not compared by cosine."""
    if not is_normalised:
        refuse_unsupported(fields, {"similarity_fn_name": ("cosine",)}, "sentence-transformers")
    prompts: Any = fields.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(prompt, str) for prompt in prompts.values()):
        raise ModelError(f"{PROMPTS} has prompts that are not texts by name.", DOWNLOAD_AGAIN)
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
