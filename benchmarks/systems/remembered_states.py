"""A model on torch that computes the token states of each text once, for comparing many contexts of the same texts."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.context import EncodingContext
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import load_tokenizer
from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import DEFAULT_MODEL
from cdesearch.models.family import LoadedModel
from cdesearch.models.registry import family_of


def remembering_encoder(model: Path | None = None) -> Encoder:
    """A checkpoint, by default the one that ships, on a CPU; raises ModelError unless all of its gates are zero.

    If every gate is zero, a context changes only the weights of tokens and the whitening. Its vectors are those of the
    torch runtime, up to the precision of stored states.
    """
    from cdesearch.encode.backends.torch import TorchRuntime, pick_device

    class RememberedStates(TorchRuntime):
        """The torch runtime, with token states in memory. States of 384 dimensions take 768 bytes for each token."""

        pads = False  # so that a batch has no padding, and the states of a text are those of all of its positions

        def __init__(self, loaded: LoadedModel) -> None:
            super().__init__(loaded.load_network(), pick_device("cpu"))
            self._states: dict[bytes, NDArray[np.float16]] = {}  # (S * T, d) by ids

        def second_stage(
            self, input_ids: NDArray[np.int64], mask: NDArray[np.int64], context: EncodingContext
        ) -> tuple[Floats, Floats]:
            """(B, d) pooled, and (B, d) final unit vectors of ids (B, S, T)."""
            self._remember(input_ids, mask)
            states = np.stack([self._states[text.tobytes()] for text in input_ids]).astype(np.float32)
            weights = context.inputs.token_weights[input_ids] * mask.astype(np.float32)
            weights = weights.reshape(len(input_ids), -1, 1)
            pooled: Floats = ((states * weights).sum(1) / weights.sum(1)).astype(np.float32)
            whitening = context.whitening
            whitened: Floats = ((to_unit(pooled) - whitening.shift) @ whitening.projection).astype(np.float32)
            return pooled, to_unit(whitened)

        def _remember(self, input_ids: NDArray[np.int64], mask: NDArray[np.int64]) -> None:
            fresh = [row for row, text in enumerate(input_ids) if text.tobytes() not in self._states]
            if not fresh:
                return
            import torch

            ids, text_mask = self._put(input_ids[fresh]), self._put(mask[fresh])
            with torch.inference_mode():
                found = self._network.first_states(ids.flatten(0, 1), text_mask.flatten(0, 1))
            states = found.half().numpy().reshape(len(fresh), -1, found.shape[-1])
            self._states |= {input_ids[row].tobytes(): state for row, state in zip(fresh, states, strict=True)}

    folder = DEFAULT_MODEL if model is None else model
    loaded = family_of(folder).open(folder)
    runtime = RememberedStates(loaded)
    if runtime.reads_context or loaded.config.context_source != "pooled":
        raise ModelError(f"The vectors of {folder} depend on the sampled chunks.", "Use a model whose gates are zero.")
    return Encoder(loaded.config, load_tokenizer(loaded.tokenizer), runtime, loaded.fingerprint)
