"""Published biencoders: folders of sentence-transformers, and backbones alone.

Their modules, pooling, prompts and length are read here. The libraries would import the classes that modules.json
names, and call functions that other files name. Here, everything that is not known is refused by its name.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import (
    DOWNLOAD_AGAIN,
    REMEDY,
    read_fields,
    read_fields_text,
    refuse_unsupported,
    whole_number,
)
from cdesearch.models.config import MIN_TEXT_TOKENS, BackboneConfig, ModelConfig, published_config
from cdesearch.models.family import TOKENIZER, LoadedModel, ModelFamily, hash_files, lazily
from cdesearch.models.model_card import stated_prefixes

Pooling = Literal["mean", "cls", "lasttoken"]

MODULES, PROMPTS, POOLING = "modules.json", "config_sentence_transformers.json", "1_Pooling"
ACTIVATIONS = ("Identity", "Tanh", "GELU", "ReLU", "SiLU")  # of dense layers, by their names in torch.nn
_ORDER = ("Transformer", "Pooling", "Dense", "Normalize")  # of modules; there may be several dense layers
_POOLINGS: dict[tuple[str, ...], Pooling] = {
    (): "mean", ("mean",): "mean", ("cls",): "cls", ("lasttoken",): "lasttoken",
}  # fmt: skip
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")  # in the order in which sentence-transformers looks for them
_UNKNOWN_LENGTH = 1_000_000  # tokenizers without a limit state at least this length
_OTHER = "Use a model of a Transformer, a Pooling by mean, cls or lasttoken, and optionally Dense and Normalize."
_LARGEST_DIMENSION = 65_536
# The names that architectures have for the same number.
_DIMENSIONS = ("hidden_size", "d_model", "dim", "n_embd")
_POSITIONS = ("max_position_embeddings", "n_positions")
# Architectures whose first position is behind the number of the padding token.
_SHIFTED_POSITIONS = ("camembert", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl")
# Files besides config, weights and tokenizer that the vectors depend on.
_SETTINGS = (MODULES, f"{POOLING}/config.json", PROMPTS, "sentence_bert_config.json", "tokenizer_config.json")
_UNSTATED_POOLING = (
    "does not state how the states of tokens are pooled. Their mean is used, as sentence-transformers does."
)


@dataclass(frozen=True, slots=True)
class Dense:
    """A layer after the pooling."""

    folder: Path  # of its weights
    in_features: int
    out_features: int
    bias: bool
    activation: str  # one of ACTIVATIONS


@dataclass(frozen=True, slots=True)
class PublishedModel:
    """What the files of a folder say about the model."""

    transformer: Path  # the folder of config, weights and tokenizer, which is a sub-folder of old models
    pooling: Pooling
    dense: tuple[Dense, ...]
    config: ModelConfig  # without statistics and document context
    states_pooling: bool  # whether the files say how states are pooled; otherwise it is by the mean
    card_prefixes: tuple[str, str]  # of queries and documents, if only the card states them


def read_folder(folder: Path) -> PublishedModel:
    """The settings of a model; raises a ModelError that names what is not supported."""
    try:
        modules = _modules(folder)
        paths = {kind: folder / path for kind, path in modules}
        transformer = paths.get("Transformer", folder)
        pooling_file = paths.get("Pooling", folder / POOLING) / "config.json"
        if modules and "Pooling" not in paths:
            raise ModelError(f"{MODULES} names no Pooling.", _OTHER)
        if modules and not pooling_file.is_file():
            raise ModelError(f"{MODULES} names a Pooling, but {pooling_file} is missing.", DOWNLOAD_AGAIN)
        pooling = _pooling(read_fields(pooling_file))
        dense = tuple(_dense(folder / path) for kind, path in modules if kind == "Dense")
        prompts = _prompts(read_fields(folder / PROMPTS), "Normalize" in paths)
        backbone = _shapes(transformer, dense)
    except ModelError as error:
        raise ModelError(f"{folder} cannot be loaded: {error.cause}", error.remedy) from None
    card_prefixes = ("", "") if any(prompts) else stated_prefixes(folder)
    query, document = card_prefixes if any(card_prefixes) else prompts
    config = published_config(backbone, max_tokens=backbone.n_positions, query_prefix=query, document_prefix=document)
    return PublishedModel(transformer, pooling, dense, config, pooling_file.is_file(), card_prefixes)


def _modules(folder: Path) -> list[tuple[str, str]]:
    """The kind and the folder of every module, in order; raises ModelError for what is not supported."""
    file = folder / MODULES
    if not file.is_file():
        return []  # a backbone alone: sentence-transformers pools its states by the mean
    try:
        modules = [(_kind(str(part["type"])), str(part["path"])) for part in json.loads(read_fields_text(file))]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(f"{file} cannot be read ({error!r:.200}).", DOWNLOAD_AGAIN) from None
    if any(Path(path).is_absolute() or ".." in Path(path).parts for _, path in modules):
        raise ModelError(f"{file} names a folder outside of its own.", DOWNLOAD_AGAIN)
    kinds = [kind for kind, _ in modules]
    if unknown := [kind for kind in kinds if kind not in _ORDER]:
        raise ModelError(f"{file} names modules that are not supported: {', '.join(unknown):.200}.", _OTHER)
    found = [kind for kind, _ in groupby(kinds)]
    is_repeated = any(kinds.count(kind) > 1 for kind in kinds if kind != "Dense")
    if found != sorted(found, key=_ORDER.index) or is_repeated or found[:1] != ["Transformer"]:
        raise ModelError(f"{file} has modules in an order that is not supported: {', '.join(kinds):.200}.", _OTHER)
    return modules


def _kind(module: str) -> str:
    """The class name of a module of sentence-transformers, which has moved its classes; else the full name."""
    return module.rpartition(".")[2] if module.startswith("sentence_transformers.") else module


def _pooling(fields: dict[str, Any]) -> Pooling:
    """The pooling from `pooling_mode`, or from the older `pooling_mode_...`, one for each mode; raises ModelError."""
    if fields.get("include_prompt") is False:
        raise ModelError("The pooling excludes the prompt (include_prompt = False), which is not supported.", _OTHER)
    named = fields.get("pooling_mode")
    modes = [str(mode) for mode in named] if isinstance(named, list) else [str(named)]
    if named is None:
        start = "pooling_mode_"
        modes = [
            name.removeprefix(start).removesuffix("_tokens").removesuffix("_token")
            for name in fields
            if name.startswith(start) and fields[name]
        ]
    if tuple(modes) in _POOLINGS:
        return _POOLINGS[tuple(modes)]
    raise ModelError(f"Pooling by {' and '.join(modes):.200} is not supported.", _OTHER)


def _dense(folder: Path) -> Dense:
    fields = read_fields(folder / "config.json")
    supported = {"module_input_name": ("sentence_embedding",), "use_residual": (False,), "bias": (True, False)}
    refuse_unsupported(fields, supported | {"module_output_name": ("sentence_embedding",)}, "a dense layer")
    named = str(fields.get("activation_function", "torch.nn.modules.activation.Tanh"))
    activation = named.rpartition(".")[2]
    if not named.startswith("torch.nn.") or activation not in ACTIVATIONS:
        raise ModelError(f"The activation {named:.100} of a dense layer is not supported.", _OTHER)
    inner, outer = (whole_number(fields, name, 0, _LARGEST_DIMENSION) for name in ("in_features", "out_features"))
    if not (inner and outer):
        raise ModelError(f"{folder} lacks the sizes of its dense layer.", DOWNLOAD_AGAIN)
    return Dense(folder, inner, outer, fields.get("bias") is not False, activation)


def _prompts(fields: dict[str, Any], is_normalised: bool) -> tuple[str, str]:
    """The prefixes of queries and of documents; raises ModelError if vectors are not compared by cosine."""
    if not is_normalised:
        refuse_unsupported(fields, {"similarity_fn_name": ("cosine",)}, "sentence-transformers")
    prompts: Any = fields.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(prompt, str) for prompt in prompts.values()):
        raise ModelError(f"{PROMPTS} has prompts that are not texts by name.", DOWNLOAD_AGAIN)
    default: str = prompts.get(str(fields.get("default_prompt_name")), "")
    document: str = next((prompts[name] for name in _DOCUMENT_PROMPTS if name in prompts), default)
    return prompts.get("query", default), document


def _shapes(transformer: Path, dense: tuple[Dense, ...]) -> BackboneConfig:
    """The numbers that this project needs of a network that a library computes; raises ModelError."""
    fields = read_fields(transformer / "config.json")
    if (transformer / "adapter_config.json").exists():
        raise ModelError("It is an adapter to another model.", "Merge the adapter, and save the whole model.")
    if fields.get("quantization_config") is not None:
        raise ModelError("Its weights are quantised (quantization_config).", "Use the published weights.")
    width = next((fields[one] for one in _DIMENSIONS if fields.get(one) is not None), None)
    named = {"vocab_size": fields.get("vocab_size"), "hidden_size": width}
    if missing := [name for name, value in named.items() if value is None]:
        raise ModelError(f"Its config.json lacks {', '.join(missing)}.", REMEDY)
    dimension = whole_number(named, "hidden_size", 0, _LARGEST_DIMENSION)
    for layer in dense:
        if layer.in_features != dimension:
            raise ModelError(f"{layer.folder} does not fit vectors of {dimension} dimensions.", DOWNLOAD_AGAIN)
        dimension = layer.out_features
    vocabulary = whole_number(named, "vocab_size", 0)
    return BackboneConfig(vocabulary, dimension, 1, 1, dimension, _max_tokens(transformer, fields))


def _max_tokens(transformer: Path, fields: Mapping[str, Any]) -> int:
    """The most tokens of a text: what the positions, the tokenizer and the settings allow."""
    settings = read_fields(transformer / "sentence_bert_config.json")
    supported = {"do_lower_case": (False,), "transformer_task": ("feature-extraction",), "query_expansion": (False,)}
    refuse_unsupported(settings, supported, "sentence-transformers")
    positions = min(whole_number(fields, name, _UNKNOWN_LENGTH) for name in _POSITIONS)
    if fields.get("model_type") in _SHIFTED_POSITIONS:
        positions -= 1 + whole_number(fields, "pad_token_id", 1)
    stated = read_fields(transformer / "tokenizer_config.json").get("model_max_length")
    # Of two numbers that cannot be compared, as NaN, `min` and `max` return the first one.
    known = int(max(0, min(_UNKNOWN_LENGTH, stated))) if isinstance(stated, int | float) else _UNKNOWN_LENGTH
    name = "model_max_length" if settings.get("max_seq_length") is None else "max_seq_length"
    limits = {name: whole_number(settings, "max_seq_length", known), "The number of positions": positions}
    name = min(limits, key=limits.__getitem__)
    if limits[name] < MIN_TEXT_TOKENS:
        raise ModelError(
            f"{name} is {limits[name]}, but a text needs at least {MIN_TEXT_TOKENS} tokens, because the special tokens"
            " count as well.",
            "Set it to the length for which the model was trained.",
        )
    return limits[name]


class BiencoderFamily(ModelFamily):
    """Any model that the library transformers contains. Vectors are scaled to length 1."""

    title = "biencoder"
    needs_transformers = True
    is_exported = True

    def detect(self, fields: Mapping[str, Any]) -> bool:
        # In old sentence-transformers folders config.json is in a sub-folder, so there are no fields.
        return "model_type" in fields or not fields

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
