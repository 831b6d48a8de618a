"""Random backbones of published architectures, as the transformers library writes them."""

import warnings

import torch
from conftest import make_tokenizer

from cdesearch.encode.exports import REFUSED, export_folder
from cdesearch.models.registry import family_of

SIZES = {"vocab_size": 160, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
BERT = SIZES | {"intermediate_size": 64, "max_position_embeddings": 128}
NAMES = {"bert": "Bert", "nomic_bert": "NomicBert", "modernbert": "ModernBert", "mpnet": "MPNet", "qwen3": "Qwen3"}
NAMES |= {"xlm-roberta": "XLMRoberta", "distilbert": "DistilBert", "roberta": "Roberta"}
CONFIGS = {
    "bert": BERT,
    "nomic_bert": SIZES | {"intermediate_size": 64},
    "modernbert": SIZES | {"intermediate_size": 40, "local_attention": 8, "pad_token_id": 0},
    "mpnet": BERT | {"max_position_embeddings": 130},
    "xlm-roberta": BERT | {"max_position_embeddings": 130},
    "roberta": BERT | {"max_position_embeddings": 130},
    "distilbert": {"vocab_size": 160, "dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 64},
    "qwen3": BERT | {"num_key_value_heads": 2, "head_dim": 8, "eos_token_id": 3, "pad_token_id": 0},
}


def random_backbone(kind, seed=0):
    import transformers

    torch.manual_seed(seed)
    config = getattr(transformers, f"{NAMES[kind]}Config")(**CONFIGS[kind])
    model = getattr(transformers, f"{NAMES[kind]}Model")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * (0.2 if parameter.ndim > 1 else 0.05))
    return model


def save_backbone(kind, folder, tokenizer=None, seed=0, **settings):
    """Write config, weights and tokenizer."""
    import transformers

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        random_backbone(kind, seed).save_pretrained(folder)
        names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep")}
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizer or make_tokenizer(), **names, **settings
        ).save_pretrained(folder)


def keep_on_torch(folder):
    """Record that the export of a model is not used, so that its vectors are exact."""
    place = export_folder(family_of(folder).open(folder).fingerprint)
    place.mkdir(parents=True, exist_ok=True)
    (place / REFUSED).touch()


def biencoder_folder(folder, kind="bert", seed=0):
    """A folder with config, weights and tokenizer alone, as many are published."""
    save_backbone(kind, folder, seed=seed)
    return folder
