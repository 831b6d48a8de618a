"""Derive the soft prompts and the widths of the backbone from the published weights of a released checkpoint."""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

N_SOFT_PROMPTS = 8
NULL = "second_stage_model.sequence_dropout_null_embedding"
_PROMPT = "second_stage_model.prompt_projection"
_HEAD = 64  # dimensions of a head
_NOMIC_FIELDS = ("vocab_size", "n_embd", "n_head", "n_inner")
_MODERN_FIELDS = ("vocab_size", "hidden_size", "num_attention_heads", "intermediate_size")


def prompt_shapes(dimension: int) -> dict[str, torch.Size]:
    """The shapes of the projection that computes the soft prompts, by published name."""
    return {
        f"{_PROMPT}.0.weight": torch.Size((dimension, dimension)),
        f"{_PROMPT}.0.bias": torch.Size((dimension,)),
        f"{_PROMPT}.2.weight": torch.Size((N_SOFT_PROMPTS * dimension, dimension)),
        f"{_PROMPT}.2.bias": torch.Size((N_SOFT_PROMPTS * dimension,)),
    }


def soft_prompts(state: Mapping[str, Tensor]) -> Tensor:
    """The 8 soft prompts (8, d), fp32. They are constant, because the projection's input is always a vector of ones."""
    inner, inner_bias, outer, outer_bias = (
        state[f"{_PROMPT}.{part}"].float() for part in ("0.weight", "0.bias", "2.weight", "2.bias")
    )
    ones = torch.ones(inner.shape[1], device=inner.device)
    hidden = functional.relu(functional.linear(ones, inner, inner_bias))
    return functional.linear(hidden, outer, outer_bias).reshape(N_SOFT_PROMPTS, -1)


def backbone_widths(state: Mapping[str, Tensor]) -> dict[str, int]:
    """The widths of the backbone, as fields of its config.json, derived from the weights.

    The depth is not derived: a checkpoint that lacks a layer must not pass as a smaller network. Heads have 64
    dimensions in every published NomicBERT and ModernBERT.
    """
    at = "second_stage_model.backbone"
    for words, inner, axis, names in (
        ("embeddings.word_embeddings.weight", "encoder.layers.0.mlp.fc11.weight", 0, _NOMIC_FIELDS),
        ("embeddings.tok_embeddings.weight", "layers.0.mlp.Wo.weight", 1, _MODERN_FIELDS),
    ):
        if f"{at}.{words}" in state and f"{at}.{inner}" in state:
            vocabulary, dimension = state[f"{at}.{words}"].shape
            widths = vocabulary, dimension, max(dimension // _HEAD, 1), state[f"{at}.{inner}"].shape[axis]
            return dict(zip(names, widths, strict=True))
    return {}
