"""The start checkpoint: a published biencoder as both stages, with every gate zero and whitening added.

    python -m trainer.start MINILM_FOLDER OUT [--precision int8|fp32] [--half]

Its vectors are those of the biencoder, whitened by the statistics of a corpus. Training changes the gates.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from trainer.reporting import exit_without_torch

if __name__ == "__main__":
    exit_without_torch()  # before the imports below, which need torch

import torch
from torch import Tensor, nn

from cdesearch.errors import ModelError
from cdesearch.models.backbones.bert import Backbone, bert_state
from cdesearch.models.checkpoint_files import MAX_LAYERS, REMEDY, number, read_fields, refuse_unsupported, whole_number
from cdesearch.models.config import BackboneConfig, ModelConfig
from cdesearch.models.contextual.model import ContextualModel, load_checkpoint
from cdesearch.models.published_weights import check_state, on_meta_device, read_weights
from trainer.export import check_out, export_as, writing_options
from trainer.reporting import Parser, reported

# A null vector of zeros, through a layer norm with the backbones' eps of 1e-12, has a gradient of 1e4 and more.
CONTEXT_NORM_EPS = 1e-5
NULL_DEVIATION = 0.3  # standard deviation of the null vector's values, about that of a first-stage vector
_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "add_cross_attention": (False,),
    "hidden_act": ("gelu",),
    "is_decoder": (False,),
    "position_embedding_type": ("absolute",),
}
_SIZES = {
    "vocabulary": "vocab_size",
    "dimension": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "inner": "intermediate_size",
    "n_positions": "max_position_embeddings",
}
# Prefixes of weights that were used in training and are not needed to embed.
_HEADS = ("pooler.", "cls.", "embeddings.position_ids")


def start_model(
    source: Path,
    *,
    first_stage: Literal["own", "shared"] = "shared",
    context_attention: Literal["cached", "joint"] = "cached",
    context_sink: bool = False,
) -> ContextualModel:
    """The start model from a BERT sentence-transformers folder; raises ModelError.

    The null vector is random. A training run replaces it by the mean first-stage vector of its texts.
    """
    backbone, shapes = _read_bert(source)
    # The text length that the biencoder was published for; positions beyond it have hardly been trained.
    length = read_fields(source / "sentence_bert_config.json").get("max_seq_length")
    config = ModelConfig(
        shapes,
        first_stage=first_stage,
        context_attention=context_attention,
        context_sink=context_sink,
        context_norm_eps=CONTEXT_NORM_EPS,
        max_tokens=shapes.n_positions,
        span_tokens=length if isinstance(length, int) else None,
    )
    model = ContextualModel(config)
    stage = model.second_stage
    stage.backbone.load_state_dict(backbone.state_dict())
    if model.own_first_stage is not None:
        model.own_first_stage.load_state_dict(backbone.state_dict())
    d = shapes.dimension
    with torch.no_grad():
        # The cross-attention starts with the text's own key and value projections, so that gates get a gradient.
        for block, cross_attention in stage.layers:
            if cross_attention is not None:
                cross_attention.key_value.weight.copy_(block.attention.qkv.weight[d:])
                cross_attention.key_value.bias.copy_(block.attention.qkv.bias[d:])
        stage.context_projection.weight.copy_(torch.eye(d))
        stage.context_projection.bias.zero_()
        stage.null.normal_(std=NULL_DEVIATION, generator=torch.Generator().manual_seed(0))
    return model.eval()


def is_published(folder: Path) -> bool:
    """Whether a folder is a published biencoder rather than a checkpoint of cdesearch; raises ModelError."""
    fields = read_fields(folder / "config.json")
    if not fields:
        raise ModelError(f"{folder} is not a checkpoint: it has no config.json.", "Name a checkpoint folder.")
    return "backbone" not in fields


def open_start(folder: Path) -> ContextualModel:
    """A checkpoint, or a published biencoder as a start; raises ModelError."""
    return start_model(folder) if is_published(folder) else load_checkpoint(folder)


def _read_bert(source: Path) -> tuple[nn.Module, BackboneConfig]:
    """The backbone; raises ModelError if it is not a BERT that this project computes."""
    fields = read_fields(source / "config.json")
    try:
        if fields.get("model_type") != "bert":
            raise ModelError(
                f"model_type is {fields.get('model_type')!r}, and training starts from BERT alone.",
                "Name the sentence-transformers folder of a BERT biencoder.",
            )
        return load_bert(fields, read_weights(source))
    except ModelError as error:
        raise ModelError(f"{source} cannot be a start: {error.cause}", error.remedy) from None


def load_bert(fields: Mapping[str, Any], state: Mapping[str, Tensor]) -> tuple[Backbone, BackboneConfig]:
    """A published BERT in fp32, from the fields of its config.json and its published tensors; raises ModelError."""
    refuse_unsupported(fields, _SUPPORTED, "the BERT backbone")
    if missing := [name for name in _SIZES.values() if fields.get(name) is None]:
        raise ModelError(f"The config of the BERT backbone lacks {', '.join(missing)}.", REMEDY)
    sizes = {name: whole_number(fields, published, 1) for name, published in _SIZES.items()}
    whole_number(fields, _SIZES["n_layers"], 1, MAX_LAYERS)
    config = BackboneConfig(**sizes, norm_eps=number(fields, "layer_norm_eps", 1e-12))
    if config.dimension % config.n_heads:
        raise ModelError(
            f"hidden_size = {config.dimension} is no multiple of num_attention_heads = {config.n_heads}.", REMEDY
        )
    names = {name: name.removeprefix("bert.") for name in state}
    needed = {short: state[name].float() for name, short in names.items() if not short.startswith(_HEADS)}
    try:
        weights = bert_state(needed, config.n_layers)
    except KeyError as error:
        raise ModelError(f"The weights lack {error.args[0]}.", REMEDY) from None
    with on_meta_device():
        backbone = Backbone(config)
    check_state(weights, {name: tensor.shape for name, tensor in backbone.state_dict().items()})
    backbone.load_state_dict(weights, assign=True)
    return backbone.eval(), config


@reported
def main(arguments: Sequence[str] | None = None) -> int:
    """Write the start checkpoint; returns the exit code. Every error is one line on stderr."""
    parser = Parser(prog="python -m trainer.start", description=__doc__)
    parser.add_argument("source", type=Path, help="sentence-transformers folder of a BERT biencoder")
    parser.add_argument("out", type=Path, help="folder of the start checkpoint")
    writing_options(parser, "int8")
    options = parser.parse_args(arguments)
    check_out(options.out, [options.source])
    export_as(start_model(options.source), options.source / "tokenizer.json", options)
    print(f"The start checkpoint is in {options.out}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
