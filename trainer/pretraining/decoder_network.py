"""A small network in the shape of Qwen3, by the library transformers, and its checkpoint folder.

The folder has the format of pplx-embed, so the checkpoint of a run of `diffusion` embeds texts as a published one does.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.errors import InputError
from cdesearch.models.pplx.folder import MODEL_TYPE, read_folder
from cdesearch.models.published_fields import read_fields
from cdesearch.models.transformers_library import load_weights, loading_from
from trainer.pretraining.recipe import NetworkSizes
from trainer.replacing import replace_folder

ROPE = {"rope_type": "default", "rope_theta": 1e6}
CAUSAL_TYPE = "qwen3"  # model_type of a network that has read from left to right
SIZES = {  # from a key of the recipe to its name in config.json
    "n_layers": "num_hidden_layers",
    "dimension": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_key_value_heads": "num_key_value_heads",
    "head_dimension": "head_dim",
    "inner": "intermediate_size",
}
POSITIONS = 32_768  # rotary positions need no memory


class DecoderNetwork(nn.Module):
    """Token ids to states, in both directions, with the embeddings as the last matrix."""

    def __init__(self, transformer: Any) -> None:
        super().__init__()
        self.transformer = transformer
        for layer in transformer.layers:
            layer.self_attn.is_causal = False

    def states(self, ids: Tensor, mask: Tensor) -> Tensor:
        """(B, T, d) states of texts (B, T), which are padded on the right, with 0/1 mask."""
        seen = None if bool(mask.all()) else mask.bool()[:, None, None, :]
        states: Tensor = self.transformer(
            input_ids=ids, attention_mask={"full_attention": seen}, use_cache=False
        ).last_hidden_state
        return states

    def logits(self, states: Tensor) -> Tensor:
        """(..., V) logits of the next token from states (..., d)."""
        return functional.linear(states, self.transformer.embed_tokens.weight).float()


def new_network(sizes: NetworkSizes, vocabulary: int, seed: int) -> DecoderNetwork:
    """A network with random weights that follow from `seed`."""
    import transformers

    config = transformers.Qwen3Config(
        vocab_size=vocabulary,
        **{name: getattr(sizes, key) for key, name in SIZES.items()},
        max_position_embeddings=POSITIONS,
        rope_parameters=ROPE,
    )
    network = DecoderNetwork(transformers.Qwen3Model(config))
    torch.manual_seed(seed)
    for module in network.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
    return network


def load_network(folder: Path) -> DecoderNetwork:
    """The network of a checkpoint folder in fp32; raises ModelError, and InputError if it is of another kind."""
    kind = read_fields(folder / "config.json").get("model_type")
    if kind not in (CAUSAL_TYPE, MODEL_TYPE):
        raise InputError(
            f"model.start is {folder}, which is no checkpoint of diffusion (its model_type is {kind!s:.40}).",
            "Name such a checkpoint, or leave model.start out for a new network.",
        )
    with loading_from(folder) as transformers:
        config = transformers.Qwen3Config(**read_folder(folder).shapes)
        return DecoderNetwork(load_weights(transformers.AutoModel, config, folder, "sdpa"))


def save_network(network: DecoderNetwork, tokenizer: Path, folder: Path) -> None:
    """Replace `folder` by a checkpoint; raises StorageError."""
    config = network.transformer.config
    copied = (*SIZES.values(), "vocab_size", "max_position_embeddings", "rms_norm_eps")
    fields = {name: getattr(config, name) for name in copied} | {
        "architectures": ["PPLXQwen3Model"],
        "model_type": MODEL_TYPE,
        "attention_bias": False,
        "hidden_act": "silu",
        "rope_parameters": ROPE,
        "tie_word_embeddings": True,
    }
    state = {name: one.detach().cpu().contiguous() for name, one in network.transformer.state_dict().items()}

    def write(unfinished: Path) -> None:
        unfinished.mkdir(parents=True)
        (unfinished / "config.json").write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
        save_file(state, unfinished / "model.safetensors")
        shutil.copymode(unfinished / "config.json", unfinished / "model.safetensors")
        shutil.copyfile(tokenizer, unfinished / "tokenizer.json")

    replace_folder(folder, write)
