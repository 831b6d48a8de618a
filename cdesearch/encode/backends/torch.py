"""The runtime on torch: CUDA, MPS, or a CPU for models without an ONNX export."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cdesearch.context.context import EncodingContext
from cdesearch.context.vectors import Floats
from cdesearch.encode.length_batches import Integers
from cdesearch.encode.token_signs import projection
from cdesearch.errors import ModelError
from cdesearch.models.backbones.bert import pool_spans
from cdesearch.models.contextual.second_stage import statistics_head
from cdesearch.models.family import Network


@dataclass(frozen=True, slots=True)
class _OnDevice:
    """The tensors of a context that every batch needs, on the device of the network."""

    context: EncodingContext
    prepared: Any  # what the network's `prepare_context` returned
    token_weights: Tensor
    shift: Tensor
    projection: Tensor


class TorchRuntime:
    """One model on one device, fp32. `Runtime` describes the methods."""

    workers = 1  # torch uses all cores, or the whole GPU, for one batch
    pads = True
    precision = "fp32"

    def __init__(self, network: Network, device: torch.device) -> None:
        self._device = device
        self._network: Any = network.to(device)  # type: ignore[attr-defined] # a module, which a protocol cannot state
        self._latest: _OnDevice | None = None
        self.reads_context = network.reads_context
        self.prefix_rows = network.prefix_rows
        self.tokens_per_batch = 4096 if self._device.type == "cpu" else 32768

    @property
    def cpu_network(self) -> Any:
        return self._network if self._device.type == "cpu" else None

    @torch.inference_mode()
    def first_stage(self, input_ids: Integers, mask: Integers) -> Floats:
        ids, text_mask = self._put(input_ids), self._put(mask)
        return _floats(pool_spans(self._network.first_stage(ids.flatten(0, 1), text_mask.flatten(0, 1)), text_mask))

    @torch.inference_mode()
    def cache(self, vectors: Floats, is_null: NDArray[np.bool_]) -> tuple[Floats, Floats] | None:
        cached = self._network.cache(self._put(vectors), self._put(is_null))
        return None if cached is None else (_floats(cached[0]), _floats(cached[1]))

    @torch.inference_mode()
    def second_stage(
        self, input_ids: Integers, mask: Integers, context: EncodingContext
    ) -> tuple[Floats, Floats | None]:
        ready = self._on_device(context)
        ids, text_mask = self._put(input_ids), self._put(mask)
        weights = ready.token_weights[ids] * text_mask
        spans = (tensor.flatten(0, 1) for tensor in (ids, text_mask, weights))
        pooled, states = self._network.pooled(*spans, ready.prepared)
        vectors = _floats(statistics_head(pool_spans(pooled, weights), ready.shift, ready.projection))
        if states is None:
            return vectors, None
        signs = self._put(projection(states.shape[-1])).to(states.dtype)
        return vectors, _floats((states @ signs).unflatten(0, ids.shape[:2]))

    @torch.inference_mode()
    def second_stage_chunks(self, input_ids: Integers, belongs: Floats, context: EncodingContext) -> Floats:
        ready, ids = self._on_device(context), self._put(input_ids)
        pooled = self._network.pooled_chunks(ids, self._put(belongs), ready.token_weights[ids], ready.prepared)
        return _floats(statistics_head(pooled, ready.shift, ready.projection))

    def _on_device(self, context: EncodingContext) -> _OnDevice:
        """The context on the device. The latest one is kept, because all batches of a corpus share it."""
        if self._latest is None or self._latest.context is not context:
            inputs, cached = context.inputs, None
            if inputs.keys is not None and inputs.values is not None:
                cached = self._put(inputs.keys), self._put(inputs.values)
            self._latest = _OnDevice(
                context,
                self._network.prepare_context(self._put(inputs.vectors), self._put(inputs.is_null), cached),
                self._put(inputs.token_weights),
                self._put(context.whitening.shift),
                self._put(context.whitening.projection),
            )
        return self._latest

    def _put(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)


def _floats(tensor: Tensor) -> Floats:
    array: Floats = tensor.float().cpu().numpy()
    return array


def pick_device(device: str) -> torch.device:
    """The device of that name, or for "auto" the fastest available one; raises ModelError."""
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device == "auto":
        device = next(name for name, is_available in available.items() if is_available)
    if not available[device]:
        raise ModelError(f"This machine has no {device} device.", "Leave --device out.")
    return torch.device(device)
