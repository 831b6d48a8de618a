"""The network of a published biencoder: the library's own modelling code, its pooling and its dense layers."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from cdesearch.errors import ModelError
from cdesearch.models.backbones.bert import mean_pool
from cdesearch.models.biencoder.folder import Dense, Pooling, PublishedModel
from cdesearch.models.checkpoint_files import check_plain
from cdesearch.models.hub import NEEDS_HUB
from cdesearch.models.published_fields import DOWNLOAD_AGAIN, read_fields

_UNUSED = ("pooler.", "position_ids")  # parts of the names of weights that vectors do not depend on


class Biencoder(nn.Module):
    """Token ids to pooled vectors; texts are padded on the right."""

    reads_context = False
    prefix_rows = 0

    def __init__(self, transformer: nn.Module, pooling: Pooling, dense: nn.Module) -> None:
        super().__init__()
        self.transformer = transformer
        self.pooling = pooling
        self.dense = dense

    @property
    def is_causal(self) -> bool:
        """Whether a token reads only the tokens before it, as in a decoder."""
        return any(getattr(module, "is_causal", False) for module in self.transformer.modules())

    def first_stage(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) ids and 0/1 mask to (B, d), not normalised."""
        return self.pooled(input_ids, attention_mask, attention_mask, None)

    def cache(self, vectors: Tensor, is_null: Tensor) -> None:
        """Return None: a biencoder reads no context."""

    def prepare_context(self, vectors: Tensor, is_null: Tensor, cached: None) -> None:
        """Return None: a biencoder reads no context."""

    def token_states(self, input_ids: Tensor, attention_mask: Tensor, context: None) -> Tensor:  # noqa: ARG002 (there is no context)
        """(B, T, d) states of all tokens, before the dense layers."""
        states: Tensor = self.transformer(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return states

    def pooled(self, input_ids: Tensor, attention_mask: Tensor, weights: Tensor, context: None) -> Tensor:
        """(B, d), not normalised; `weights` (B, T) of the tokens if they are pooled by the mean, zero on padding."""
        return self.pool(self.token_states(input_ids, attention_mask, context), attention_mask, weights)

    def pool(self, states: Tensor, attention_mask: Tensor, weights: Tensor) -> Tensor:
        """(B, d) of states (B, T, h), after the dense layers."""
        if self.pooling == "mean":
            pooled = mean_pool(states, weights)
        elif self.pooling == "cls":
            pooled = states[:, 0]
        else:
            last = attention_mask.sum(1, keepdim=True) - 1
            pooled = states.gather(1, last[..., None].expand(-1, -1, states.shape[-1]))[:, 0]
        vectors: Tensor = self.dense(pooled)
        return vectors


def load_network(folder: Path, model: PublishedModel) -> Biencoder:
    """The network in fp32; raises ModelError. Nothing is downloaded, and no code of the folder runs."""
    check_plain(model.transformer / "model.safetensors")
    try:
        with _quiet_transformers() as transformers:
            transformer = _load_transformer(transformers, model.transformer)
    except ImportError:
        raise ModelError(f"The model in {folder} needs transformers, which is not installed.", NEEDS_HUB) from None
    except ModelError as error:
        raise ModelError(f"{folder} cannot be loaded: {error.cause}", error.remedy) from None
    except Exception as error:  # a configuration that is not one can make any part of the library fail
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(f"{folder} cannot be loaded: {reason:.300}.", DOWNLOAD_AGAIN) from None
    dense = nn.Sequential(*(layer for one in model.dense for layer in _load_dense(one)))
    return Biencoder(transformer, model.pooling, dense).eval()


def _load_transformer(transformers: Any, folder: Path) -> nn.Module:
    fields = read_fields(folder / "config.json")
    kind = fields.get("model_type")
    if not isinstance(kind, str) or kind not in transformers.models.auto.configuration_auto.CONFIG_MAPPING:
        needs = "needs code of its own (auto_map)" if "auto_map" in fields else "has an unknown architecture"
        raise ModelError(
            f"the model {needs}: transformers {transformers.__version__} does not have the model_type {kind!r:.40}.",
            "Name a model that transformers contains, or upgrade it. cdesearch never runs the code of a model.",
        )
    if not (folder / "model.safetensors").is_file():
        raise ModelError(
            f"{folder} has no model.safetensors.",
            "Download the complete folder; weights in other formats are not supported.",
        )
    auto = transformers.AutoModel
    if fields.get("is_encoder_decoder"):
        auto = transformers.AutoModelForTextEncoding
    # Eager attention is named, because a config may name a kernel that the library would download and run.
    network, report = auto.from_pretrained(
        str(folder),
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        dtype=torch.float32,
        attn_implementation="eager",
        output_loading_info=True,
    )
    missing = sorted(name for name in report["missing_keys"] if not any(part in name for part in _UNUSED))
    if missing or report.get("mismatched_keys"):
        named = missing or sorted(map(str, report["mismatched_keys"]))
        raise ModelError(f"The weights lack {', '.join(named[:5])}.", DOWNLOAD_AGAIN)
    network.config.use_cache = False
    loaded: nn.Module = network
    return loaded


def _load_dense(layer: Dense) -> tuple[nn.Module, nn.Module]:
    file = layer.folder / "model.safetensors"
    check_plain(file)
    linear = nn.Linear(layer.in_features, layer.out_features, bias=layer.bias)
    try:
        state = {name.removeprefix("linear."): tensor.float() for name, tensor in load_file(file).items()}
        linear.load_state_dict(state)
    except Exception as error:  # safetensors' and torch's errors share no root
        reason = str(error).strip().replace("\n", " ")
        raise ModelError(f"{file} cannot be loaded: {reason:.300}.", DOWNLOAD_AGAIN) from None
    activation: nn.Module = getattr(nn, layer.activation)()
    return linear, activation


@contextmanager
def _quiet_transformers() -> Iterator[Any]:
    """The library transformers without its warnings and progress bars."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import transformers

        logging: Any = transformers.utils.logging
        verbosity, has_bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        try:
            yield transformers
        finally:
            logging.set_verbosity(verbosity)
            if has_bar:
                logging.enable_progress_bar()
