"""The start checkpoint: a published biencoder as both stages, context doors closed, the statistics head on top.

    python -m trainer.start MINILM_FOLDER OUT [--precision int8|fp32] [--half]

The result embeds as the biencoder does, moved by its corpus' statistics; training opens the doors.
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import load_file

from cdesearch.model.backbone import bert_state
from cdesearch.model.config import BackboneConfig, ModelConfig
from cdesearch.model.contextual import ContextualModel
from trainer.export import export


def start_model(source: Path) -> ContextualModel:
    """The start model from a BERT sentence-transformers folder."""
    theirs = json.loads((source / "config.json").read_text(encoding="utf-8"))
    backbone = BackboneConfig(
        vocabulary=theirs["vocab_size"],
        dimension=theirs["hidden_size"],
        n_layers=theirs["num_hidden_layers"],
        n_heads=theirs["num_attention_heads"],
        inner=theirs["intermediate_size"],
        n_positions=theirs["max_position_embeddings"],
        norm_eps=theirs["layer_norm_eps"],
    )
    model = ContextualModel(ModelConfig(backbone, first_stage="shared", max_tokens=backbone.n_positions))
    state = {name.removeprefix("bert."): tensor for name, tensor in load_file(source / "model.safetensors").items()}
    stage = model.second_stage
    stage.backbone.load_state_dict(bert_state(state, backbone.n_layers))
    with torch.no_grad():
        # Doors start as copies of the text's own keys and values: an opened gate sees something sensible at once.
        for block, door in stage.layers:
            door.key_value.weight.copy_(block.attention.qkv.weight[backbone.dimension :])
            door.key_value.bias.copy_(block.attention.qkv.bias[backbone.dimension :])
        stage.context_projection.weight.copy_(torch.eye(backbone.dimension))
        stage.context_projection.bias.zero_()
    return model.eval()


def main() -> None:
    """Write the start checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="sentence-transformers folder of a BERT biencoder")
    parser.add_argument("out", type=Path)
    parser.add_argument("--precision", choices=["int8", "fp32"], default="int8")
    parser.add_argument("--half", action="store_true", help="store model.safetensors in fp16")
    arguments = parser.parse_args()
    dtype = torch.float16 if arguments.half else torch.float32
    export(
        start_model(arguments.source),
        arguments.source / "tokenizer.json",
        arguments.out,
        arguments.precision,
        dtype,
    )


if __name__ == "__main__":
    main()
