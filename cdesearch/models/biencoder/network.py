"""The network of a published biencoder: the library's own modelling code, its pooling and its dense layers."""

from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor, nn

from cdesearch.errors import ModelError
from cdesearch.models.backbones.bert import mean_pool
from cdesearch.models.biencoder.family import Dense, Pooling, PublishedModel
from cdesearch.models.checkpoint_files import DOWNLOAD_AGAIN, check_plain, read_fields
from cdesearch.models.published_weights import NetworkWithoutContext, load_weights, loading_from, on_meta_device

# Fields of config.json that do not change the states, but how the library computes and returns them.
_COMPUTED = {"chunk_size_feed_forward": 0, "return_dict": True}


class Biencoder(NetworkWithoutContext):
    """Token ids to pooled vectors; texts are padded on the right."""

    def __init__(self, transformer: nn.Module, pooling: Pooling, dense: nn.Module) -> None:
        super().__init__()
        self.transformer = transformer
        self.pooling = pooling
        self.dense = dense

    @property
    def is_causal(self) -> bool:
        """Whether a token reads only the tokens before it, as in a decoder."""
        return any(getattr(module, "is_causal", False) for module in self.transformer.modules())

    def token_states(self, input_ids: Tensor, attention_mask: Tensor, context: None) -> Tensor:  # noqa: ARG002 (there is no context)
        """(B, T, d) states of all tokens, before the dense layers."""
        states: Tensor = self.transformer(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return states

    def pooled(
        self, input_ids: Tensor, attention_mask: Tensor, weights: Tensor, context: None
    ) -> tuple[Tensor, Tensor]:
        states = self.token_states(input_ids, attention_mask, context)
        return self.pool(states, attention_mask, weights), states

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
    with loading_from(folder) as transformers:
        fields = read_fields(model.transformer / "config.json")
        kind = fields.get("model_type")
        if not isinstance(kind, str) or kind not in transformers.models.auto.configuration_auto.CONFIG_MAPPING:
            why = "needs code of its own (auto_map)" if "auto_map" in fields else "has an unknown architecture"
            raise ModelError(
                f"the model {why}: transformers {transformers.__version__} does not have the model_type {kind!r:.40}.",
                "Name a model that transformers contains, or upgrade it. cdesearch never runs the code of a model.",
            )
        config = transformers.models.auto.configuration_auto.CONFIG_MAPPING[kind].from_dict(fields | _COMPUTED)
        auto = transformers.AutoModelForTextEncoding if config.is_encoder_decoder else transformers.AutoModel
        transformer = load_weights(auto, config, model.transformer, "eager")
    dense = nn.Sequential(*(layer for one in model.dense for layer in _load_dense(one)))
    return Biencoder(transformer, model.pooling, dense).eval()


def _load_dense(layer: Dense) -> tuple[nn.Module, nn.Module]:
    file = layer.folder / "model.safetensors"
    check_plain(file)
    with on_meta_device():  # so that no memory is needed for sizes that the weights do not have
        linear = nn.Linear(layer.in_features, layer.out_features, bias=layer.bias)
    try:
        state = {name.removeprefix("linear."): tensor.float() for name, tensor in load_file(file).items()}
        linear.load_state_dict(state, assign=True)
    except Exception as error:  # safetensors' and torch's errors share no root
        reason = str(error).strip().replace("\n", " ")
        raise ModelError(f"{file} cannot be loaded: {reason:.300}.", DOWNLOAD_AGAIN) from None
    activation: nn.Module = getattr(nn, layer.activation)()
    return linear, activation
