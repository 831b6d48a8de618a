"""Random checkpoints under the published names of the released ones."""

import json

import torch
from conftest import make_tokenizer
from safetensors.torch import save_file

from cdesearch.models.backbones.modern_bert import ModernBertConfig
from cdesearch.models.backbones.nomic_bert import NomicBertConfig
from cdesearch.models.released.model import load_released

D = 32
VARIANTS = ["v1", "v2"]
NOMIC = {
    "n_embd": D,
    "n_head": 4,
    "n_layer": 3,
    "n_inner": 48,
    "vocab_size": 1100,
    "rotary_emb_base": 1000,
    "layer_norm_epsilon": 1e-12,
}
MODERN = {
    "hidden_size": D,
    "num_attention_heads": 4,
    "num_hidden_layers": 4,
    "intermediate_size": 40,
    "vocab_size": 1100,
    "norm_eps": 1e-5,
    "local_attention": 16,
    "global_attn_every_n_layers": 3,
    "global_rope_theta": 160_000.0,
    "local_rope_theta": 10_000.0,
}
PUBLISHED_NOMIC = {"n_embd": 768, "n_layer": 12, "n_inner": 3072, "vocab_size": 30528}
PUBLISHED_MODERN = {"hidden_size": 768, "num_hidden_layers": 22, "intermediate_size": 1152, "vocab_size": 50368}


def config_of(variant, **changes):
    name = "answerdotai/ModernBERT-base" if variant == "v2" else "nomic-ai/nomic-bert-2048"
    published = {
        "architecture": "transductive",
        "embedder": name,
        "dataset_backbone": name,
        "limit_layers": None,
        "logit_scale": 50,
        "pooling_strategy": "mean",
        "max_seq_length": 512,
        "transductive_corpus_size": 12,
        "transductive_tokens_per_document": 1,
        "transductive_sequence_dropout_prob": 0.005,
        "disable_transductive_rotary_embedding": True,
        "warmup_steps": 1000,
    }
    return published | changes


SHAPES = {"v1": NomicBertConfig(1100, D, 3, 4, 48), "v2": ModernBertConfig(1100, D, 4, 4, 40, reach=8)}


def backbone_of(variant):
    return MODERN if variant == "v2" else NOMIC


def nomic_shapes(fields):
    d, inner = fields["n_embd"], fields["n_inner"]
    yield "embeddings.word_embeddings.weight", (fields["vocab_size"], d)
    yield "embeddings.token_type_embeddings.weight", (2, d)
    yield from {"emb_ln.weight": (d,), "emb_ln.bias": (d,)}.items()
    for n in range(fields["n_layer"]):
        at = f"encoder.layers.{n}"
        yield from {f"{at}.attn.Wqkv.weight": (3 * d, d), f"{at}.attn.out_proj.weight": (d, d)}.items()
        yield from {f"{at}.mlp.fc11.weight": (inner, d), f"{at}.mlp.fc12.weight": (inner, d)}.items()
        yield f"{at}.mlp.fc2.weight", (d, inner)
        yield from {f"{at}.{norm}.{part}": (d,) for norm in ("norm1", "norm2") for part in ("weight", "bias")}.items()


def modern_shapes(fields):
    d, inner = fields["hidden_size"], fields["intermediate_size"]
    yield from {"embeddings.tok_embeddings.weight": (fields["vocab_size"], d), "embeddings.norm.weight": (d,)}.items()
    for n in range(fields["num_hidden_layers"]):
        if n:
            yield f"layers.{n}.attn_norm.weight", (d,)
        yield from {f"layers.{n}.attn.Wqkv.weight": (3 * d, d), f"layers.{n}.attn.Wo.weight": (d, d)}.items()
        yield f"layers.{n}.mlp_norm.weight", (d,)
        yield from {f"layers.{n}.mlp.Wi.weight": (2 * inner, d), f"layers.{n}.mlp.Wo.weight": (d, inner)}.items()
    yield "final_norm.weight", (d,)


def published_shapes(variant, fields):
    """Every published name of a checkpoint and its shape."""
    d = fields["hidden_size" if variant == "v2" else "n_embd"]
    shapes = {"second_stage_model.sequence_dropout_null_embedding": (d,)}
    for prefix in ("first_stage_model.embedder", "second_stage_model.backbone"):
        parts = modern_shapes(fields) if variant == "v2" else nomic_shapes(fields)
        shapes |= {f"{prefix}.{name}": shape for name, shape in parts}
    widths = {
        "first_stage_model.mlp": d,
        "second_stage_model.output_projection": d,
        "second_stage_model.prompt_projection": 8 * d,
    }
    for name, width in widths.items():
        shapes |= {f"{name}.0.weight": (d, d), f"{name}.0.bias": (d,)}
        shapes |= {f"{name}.2.weight": (width, d), f"{name}.2.bias": (width,)}
    return shapes


def random_state(variant, seed=0, backbone=None):
    generator = torch.Generator().manual_seed(seed)
    state = {}
    for name, shape in published_shapes(variant, backbone or backbone_of(variant)).items():
        scale = 1.5 / shape[-1] ** 0.5 if len(shape) > 1 and "embeddings" not in name else 0.7
        state[name] = torch.randn(shape, generator=generator) * scale
        if "norm" in name or "emb_ln" in name:
            state[name] += float(name.endswith("weight"))
    return state


SMALL = {  # 64 wide, and as deep as the config of `released_folder` says
    "v1": {**NOMIC, "n_embd": 64, "n_layer": 2},
    "v2": {**MODERN, "hidden_size": 64, "num_hidden_layers": 3},
}


def released_folder(folder, variant, **changes):
    """A folder as published, with a tokenizer; returns it with the model that `load_released` makes of it."""
    depth = 3 if variant == "v2" else 2
    config = config_of(variant, limit_layers=depth, limit_layers_first_stage=depth, **changes)
    state = random_state(variant, backbone=SMALL[variant])
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    save_file(state, folder / "model.safetensors")
    make_tokenizer().save(str(folder / "tokenizer.json"))
    return folder, load_released(config, state)
