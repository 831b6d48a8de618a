"""A second implementation of the released checkpoints in plain numpy and double precision, one text at a time.

It was written from the published facts, not from the torch code, so that both agree only if both are right. Names of
tensors and fields are the published ones; `config` and `backbone` contain all fields that are read here.
"""

from math import erf

import numpy as np

HALF_WINDOW = 2  # local_attention counts both sides


def first_stage(config, state, backbone, variant, ids):
    """(d,) of one text's token ids."""
    state = as_double(state)
    ids = np.asarray(ids)
    if variant == "v2":
        states = modern_layers(state, "first_stage_model.embedder.", backbone, modern_embed(state, 1, ids, backbone))
    else:
        rows = nomic_embed(state, "first_stage_model.embedder.", ids)
        angles = nomic_positions(np.arange(len(ids)), np.ones(len(ids), bool), backbone)
        states = nomic_layers(state, "first_stage_model.embedder.", backbone, rows, angles)
    hidden = gelu(linear(state, "first_stage_model.mlp.0", states.mean(0)))
    return linear(state, "first_stage_model.mlp.2", hidden)


def second_stage(config, state, backbone, variant, ids, context):
    """(d,) of one text's token ids given context vectors (J, d)."""
    state = as_double(state)
    ids = np.asarray(ids)
    size = config["transductive_corpus_size"]
    context = np.asarray(context, np.float64)[:size]
    hidden = np.maximum(linear(state, "second_stage_model.prompt_projection.0", np.ones(context.shape[1])), 0)
    soft = linear(state, "second_stage_model.prompt_projection.2", hidden).reshape(8, -1)
    if variant == "v2":
        rows = np.concatenate([context, soft, modern_embed(state, 2, ids, backbone)])
        norm = state["second_stage_model.backbone.embeddings.norm.weight"]
        rows = layer_norm(rows, norm, 0, backbone["norm_eps"])
        states = modern_layers(state, "second_stage_model.backbone.", backbone, rows)
    else:
        prefix = "second_stage_model.backbone."
        rows = np.concatenate([context, soft, nomic_embed(state, prefix, ids)])
        is_rotated = np.arange(len(rows)) >= len(context)
        angles = nomic_positions(np.arange(len(rows)), is_rotated, backbone)
        states = nomic_layers(state, prefix, backbone, rows, angles)
    text = states[len(context) + 8 :]
    pooled = text[instruction_length(config, variant, ids) :].mean(0)
    hidden = np.maximum(linear(state, "second_stage_model.output_projection.0", pooled), 0)
    projected = linear(state, "second_stage_model.output_projection.2", hidden)
    return projected + pooled if variant == "v2" else projected


def instruction_length(config, variant, ids):
    """How many tokens pooling leaves out: those up to the first colon that is not the first token."""
    if not config.get("pool_ignore_instruction_tokens"):
        return 0
    colons = [place for place, token in enumerate(ids) if place > 0 and token == (27 if variant == "v2" else 1024)]
    return colons[0] + 1 if colons else 0


def nomic_embed(state, prefix, ids):
    words = state[prefix + "embeddings.word_embeddings.weight"][ids]
    return words + state[prefix + "embeddings.token_type_embeddings.weight"][0]


def nomic_positions(places, is_rotated, backbone):
    """(heads, T) the position of a row; 0 is no rotation."""
    return np.where(is_rotated, places, 0) + np.zeros((backbone["n_head"], 1))


def nomic_layers(state, prefix, backbone, rows, positions):
    def norm(name, rows):
        weight, bias = state[prefix + name + ".weight"], state[prefix + name + ".bias"]
        return layer_norm(rows, weight, bias, backbone["layer_norm_epsilon"])

    rows = norm("emb_ln", rows)
    for number in range(backbone["n_layer"]):
        at = f"encoder.layers.{number}."
        w = {name: state[f"{prefix}{at}{name}.weight"] for name in ("attn.Wqkv", "attn.out_proj")}
        w |= {name: state[f"{prefix}{at}mlp.{name}.weight"] for name in ("fc11", "fc12", "fc2")}
        mixed = attention(rows @ w["attn.Wqkv"].T, backbone["n_head"], positions, backbone["rotary_emb_base"], np.inf)
        rows = norm(at + "norm1", rows + mixed @ w["attn.out_proj"].T)
        gate = rows @ w["fc12"].T
        gated = (rows @ w["fc11"].T) * gate / (1 + np.exp(-gate))
        rows = norm(at + "norm2", rows + gated @ w["fc2"].T)
    return rows


def modern_embed(state, stage, ids, backbone):
    prefix = ("first_stage_model.embedder.", "second_stage_model.backbone.")[stage - 1] + "embeddings."
    return layer_norm(
        state[prefix + "tok_embeddings.weight"][ids], state[prefix + "norm.weight"], 0, backbone["norm_eps"]
    )


def modern_layers(state, prefix, backbone, rows):
    eps = backbone["norm_eps"]
    positions = np.tile(np.arange(len(rows)), (backbone["num_attention_heads"], 1))
    for number in range(backbone["num_hidden_layers"]):
        w = {name: tensor for name, tensor in state.items() if name.startswith(f"{prefix}layers.{number}.")}
        w = {name.removeprefix(f"{prefix}layers.{number}.").removesuffix(".weight"): w[name] for name in w}
        is_global = number % backbone["global_attn_every_n_layers"] == 0
        theta = backbone["global_rope_theta" if is_global else "local_rope_theta"]
        reach = np.inf if is_global else backbone["local_attention"] // HALF_WINDOW
        normed = rows if number == 0 else layer_norm(rows, w["attn_norm"], 0, eps)
        mixed = attention(normed @ w["attn.Wqkv"].T, backbone["num_attention_heads"], positions, theta, reach)
        rows = rows + mixed @ w["attn.Wo"].T
        activated, gate = np.split(layer_norm(rows, w["mlp_norm"], 0, eps) @ w["mlp.Wi"].T, 2, axis=1)
        rows = rows + (gelu(activated) * gate) @ w["mlp.Wo"].T
    return layer_norm(rows, state[prefix + "final_norm.weight"], 0, eps)


def attention(qkv, n_heads, positions, theta, reach):
    """(T, d) from (T, 3 d) laid out (three, head, dimension), rotated by `positions` (heads, T)."""
    n_rows, width = len(qkv), qkv.shape[1] // 3
    queries, keys, values = qkv.reshape(n_rows, 3, n_heads, -1).transpose(1, 2, 0, 3)  # each (heads, T, dimension)
    size = width // n_heads
    angles = positions[:, :, None] / theta ** (np.arange(0, size, 2) / size)
    turn = np.exp(1j * angles)  # the pair (i, i + half) is one complex number

    def rotated(x):
        pairs = (x[..., : size // 2] + 1j * x[..., size // 2 :]) * turn
        return np.concatenate([pairs.real, pairs.imag], axis=-1)

    scores = rotated(queries) @ rotated(keys).transpose(0, 2, 1) / np.sqrt(size)
    places = np.arange(n_rows)
    scores[:, np.abs(places[:, None] - places) > reach] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights @ values).transpose(1, 0, 2).reshape(n_rows, width)


def as_double(state):
    return {name: np.asarray(tensor, np.float64) for name, tensor in state.items()}


def linear(state, name, x):
    return state[name + ".weight"] @ x + state[name + ".bias"]


def layer_norm(rows, weight, bias, eps):
    centred = rows - rows.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) * weight + bias


def gelu(x):
    return x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2
