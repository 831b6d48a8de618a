"""A checkpoint on torch: CUDA, MPS, or a CPU where there is no ONNX export."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cdesearch.context import Context, Floats
from cdesearch.errors import ModelError
from cdesearch.model.contextual import ContextualModel, load_checkpoint
from cdesearch.model.second_stage import read_out


class TorchRuntime:
    """One model on one device, fp32."""

    workers = 1  # torch uses all cores, or the whole GPU, for one batch
    pads = True

    def __init__(self, model: ContextualModel, device: torch.device) -> None:
        self._device = device
        self._model = model.to(device)
        self.reads_context = not model.second_stage.gates_closed
        self.tokens_per_batch = 4096 if self._device.type == "cpu" else 32768

    @classmethod
    def load(cls, folder: Path, device: str) -> "TorchRuntime":
        """Read a checkpoint folder; raises ModelError."""
        return cls(load_checkpoint(folder), _pick(device))

    @torch.inference_mode()
    def first_stage(self, input_ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Floats:
        """(B, d) first-stage vectors, not normalised."""
        return _floats(self._model.first_stage(self._put(input_ids), self._put(mask)))

    @torch.inference_mode()
    def cache(self, vectors: Floats, is_null: NDArray[np.bool_]) -> tuple[Floats, Floats] | None:
        """Keys and values (L, J, d) of a context; None where the model is joint or no gate is open."""
        stage = self._model.second_stage
        if stage.joint or stage.gates_closed:
            return None
        keys, values = stage.cache(self._put(vectors), self._put(is_null))
        return _floats(keys), _floats(values)

    @torch.inference_mode()
    def second_stage(
        self, input_ids: NDArray[np.int64], mask: NDArray[np.int64], context: Context
    ) -> tuple[Floats, Floats]:
        """(B, d) pooled, before the statistics head, and (B, d) final unit vectors."""
        stage, ids, text_mask = self._model.second_stage, self._put(input_ids), self._put(mask)
        if stage.joint:
            is_null = np.isnan(context.vectors).any(axis=1)
            rows = self._put(np.nan_to_num(context.vectors))
            states = stage.joint_states(ids, text_mask, rows, self._put(np.asarray(is_null)))
        else:
            cached = (context.keys, context.values)
            keys, values = (None if array is None else self._put(array) for array in cached)
            states = stage.states(ids, text_mask, keys, values)
        weights = self._put(context.token_weights)[ids] * text_mask
        pooled, vectors = read_out(states, weights, self._put(context.shift), self._put(context.projection))
        return _floats(pooled), _floats(vectors)

    def _put(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)


def _floats(tensor: Tensor) -> Floats:
    array: Floats = tensor.float().cpu().numpy()
    return array


def _pick(device: str) -> torch.device:
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device == "auto":
        device = next(name for name, there in available.items() if there)
    if not available[device]:
        raise ModelError(f"This machine has no {device} device.", "Leave --device out.")
    return torch.device(device)
