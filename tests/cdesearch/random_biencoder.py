"""Random backbones of published architectures, as the transformers library writes them."""

import warnings

import torch
from conftest import make_tokenizer


def random_backbone(kind):
    import transformers

    sizes = {"vocab_size": 160, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
    torch.manual_seed(0)
    if kind == "bert":
        config = transformers.BertConfig(**sizes, intermediate_size=64, max_position_embeddings=128)
        model = transformers.BertModel(config)
    elif kind == "nomic_bert":
        model = transformers.NomicBertModel(transformers.NomicBertConfig(**sizes, intermediate_size=64))
    else:
        config = transformers.ModernBertConfig(**sizes, intermediate_size=40, local_attention=8, pad_token_id=0)
        model = transformers.ModernBertModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * (0.2 if parameter.ndim > 1 else 0.05))
    return model


def biencoder_folder(folder, kind="bert"):
    """A folder with config, weights and tokenizer alone, as many are published."""
    import transformers

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        random_backbone(kind).save_pretrained(folder)
        names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep")}
        transformers.PreTrainedTokenizerFast(tokenizer_object=make_tokenizer(), **names).save_pretrained(folder)
    return folder
