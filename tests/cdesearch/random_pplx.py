"""Small random checkpoints of pplx-embed, in the layout in which they are published."""

import json

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

SEPARATOR = "<|endoftext|>"
SHAPES = {
    "vocab_size": 320,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-6,
}


def byte_tokenizer():
    """A tokenizer of the kind of Qwen3: bytes, no special tokens around a text, and a token that ends a document."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_special_tokens([SEPARATOR])
    return tokenizer


def random_qwen3(seed=0, **changed):
    """The library's own model, whose states are large enough for codes of every size."""
    import transformers

    torch.manual_seed(seed)
    rope = {"rope_type": "default", "rope_theta": 1e6}
    network = transformers.Qwen3Model(transformers.Qwen3Config(**SHAPES | changed, rope_parameters=rope)).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter) * (0.2 if parameter.ndim > 1 else 0.05))
    return network


def pplx_folder(folder, *, is_contextual=False, seed=0, **fields):
    """Write config, weights and tokenizer; returns the folder."""
    random_qwen3(seed).save_pretrained(folder)
    kind = "PPLXQwen3ContextualModel" if is_contextual else "PPLXQwen3Model"
    published = SHAPES | {
        "architectures": [kind],
        "auto_map": {"AutoModel": f"modeling.{kind}"},
        "attention_bias": False,
        "hidden_act": "silu",
        "model_type": "bidirectional_pplx_qwen3",
        "rope_scaling": None,
        "rope_theta": 1000000,
        "sliding_window": None,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
        "use_sliding_window": False,
    }
    (folder / "config.json").write_text(json.dumps(published | fields))
    byte_tokenizer().save(str(folder / "tokenizer.json"))
    return folder
