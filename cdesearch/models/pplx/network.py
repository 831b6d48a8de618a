"""The network of pplx-embed: transformers' Qwen3 without its causal mask, a mean of the states, and codes of that."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from cdesearch.models.backbones.bert import pool_chunks
from cdesearch.models.published_weights import NetworkWithoutContext, load_weights, loading_from

LARGEST_CODE = 127


class PplxNetwork(NetworkWithoutContext):
    """Token ids to codes: whole numbers from -127 to 127, which are compared by cosine. Texts are padded on the right.

    A text without tokens has the code zero everywhere.
    """

    def __init__(self, transformer: Any) -> None:
        super().__init__()
        self.transformer = transformer
        for layer in transformer.layers:
            layer.self_attn.is_causal = False

    def token_states(self, input_ids: Tensor, attention_mask: Tensor, context: None) -> Tensor:  # noqa: ARG002 (there is no context)
        if not input_ids.shape[1]:
            return self.transformer.embed_tokens(input_ids)  # type: ignore[no-any-return] # (B, 0, d)
        seen = attention_mask.bool()
        mask = None
        if not seen.all():
            # The padding of a text without tokens reads itself, because the softmax over nothing is not a number.
            mask = (seen | ~seen.any(1, keepdim=True))[:, None, None, :]
        # The library takes masks by the kind of the layer as they are, and adds no causal one.
        states: Tensor = self.transformer(
            input_ids=input_ids, attention_mask={"full_attention": mask}, use_cache=False
        ).last_hidden_state
        return states

    def pooled(
        self, input_ids: Tensor, attention_mask: Tensor, weights: Tensor, context: None
    ) -> tuple[Tensor, Tensor]:
        states = self.token_states(input_ids, attention_mask, context)
        return to_codes(pool_chunks(states, weights[:, None]))[:, 0], states

    def pooled_chunks(self, input_ids: Tensor, belongs: Tensor, weights: Tensor, context: None) -> Tensor:
        """Codes (C, d) of the chunks in one sequence (T,); `belongs` (C, T) is 1 where a token is of a chunk."""
        states = self.token_states(input_ids[None], input_ids.new_ones(1, len(input_ids)), context)
        return to_codes(pool_chunks(states, (belongs * weights)[None]))[0]


def to_codes(means: Tensor) -> Tensor:
    """The codes that the model was trained with, as floats."""
    return (LARGEST_CODE * means.tanh()).round()


def load_network(folder: Path, shapes: Mapping[str, Any]) -> PplxNetwork:
    """The network in fp32, from the fields of Qwen3Config; raises ModelError. No code of the folder runs."""
    with loading_from(folder) as transformers:
        config = transformers.Qwen3Config(**shapes)
        return PplxNetwork(load_weights(transformers.AutoModel, config, folder, "sdpa")).eval()
