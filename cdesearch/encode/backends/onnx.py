"""The runtime of ONNX exports, which computes on the CPU and does not need torch."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdesearch.context.context import EncodingContext
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.encode.backends.onnx_import import import_onnxruntime
from cdesearch.encode.length_batches import Integers
from cdesearch.encode.token_signs import projection
from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import AGAIN, check_plain
from cdesearch.process_limits import available_processors


class OnnxRuntime:
    """The graphs of one export folder: `second_stage`, and perhaps `first_stage` and `cache`. See `Runtime`."""

    tokens_per_batch = 1024  # as much as fits into the cache of a core
    prefix_rows = 0  # joint models run on torch
    cpu_network = None
    pads = False  # attention without a mask is faster, and no computation is spent on padding

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder, self._dimension = folder, dimension
        # One batch for each core is faster than all cores on one batch: no core waits for another.
        self.workers = available_processors()
        self._second = _open(folder / "second_stage.onnx")
        self._first = _open(folder / "first_stage.onnx") if (folder / "first_stage.onnx").exists() else self._second
        self.reads_context = any(value.name == "keys" for value in self._second.get_inputs())
        self._cache = _open(folder / "cache.onnx") if self.reads_context else None
        if [value.shape for value in self._second.get_inputs() if value.name == "shift"] != [[dimension]]:
            raise ModelError(f"{folder} is not the ONNX export of a model of {dimension} dimensions.", AGAIN)
        if self.reads_context and self._first is self._second:
            raise ModelError(f"{folder} has no first_stage.onnx, which its second stage needs.", AGAIN)

    @cached_property
    def precision(self) -> str:
        return export_precision(self._folder)

    def first_stage(self, input_ids: Integers, mask: Integers) -> Floats:
        inputs: dict[str, Any] = {"input_ids": input_ids}
        if self._first is not self._second:
            vectors: Floats = _run(self._first, ["vectors"], inputs)[0]
            return vectors
        # Both stages share one backbone and every gate is zero. Therefore the second stage's states, pooled with equal
        # weights, are the first-stage vectors.
        d = self._dimension
        inputs |= {"weights": mask.astype(np.float32), "shift": np.zeros(d, np.float32)}
        inputs["projection"] = np.eye(d, dtype=np.float32)
        pooled: Floats = _run(self._second, ["pooled"], inputs)[0]
        return pooled

    def second_stage_chunks(self, input_ids: Integers, belongs: Floats, context: EncodingContext) -> Floats:
        # The graph computes the states of the tokens.
        inputs = self._inputs(input_ids[None, None], np.ones((1, 1, len(input_ids)), np.int64), context)
        states: Floats = _run(self._second, ["states"], inputs)[0][0, 0]
        weights = belongs * context.inputs.token_weights[input_ids]
        pooled: Floats = (weights @ states) / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
        return context.whitening.apply(to_unit(pooled))

    def cache(self, vectors: Floats, is_null: NDArray[np.bool_]) -> tuple[Floats, Floats] | None:
        if self._cache is None:
            return None
        keys, values = _run(self._cache, ["keys", "values"], {"vectors": vectors, "is_null": is_null})
        return keys, values

    def second_stage(self, input_ids: Integers, mask: Integers, context: EncodingContext) -> tuple[Floats, Floats]:
        vectors, states = _run(self._second, ["vectors", "states"], self._inputs(input_ids, mask, context))
        return vectors, states @ projection(states.shape[-1])

    def _inputs(self, input_ids: Integers, mask: Integers, context: EncodingContext) -> dict[str, Any]:
        inputs: dict[str, Any] = {
            "input_ids": input_ids,
            "weights": context.inputs.token_weights[input_ids] * mask.astype(np.float32),
            "shift": context.whitening.shift,
            "projection": context.whitening.projection,
        }
        if self.reads_context:
            inputs |= {"keys": context.inputs.keys, "values": context.inputs.values}
        return inputs


def export_precision(folder: Path) -> str:
    """`int8` if the graphs of an export folder multiply quantised matrices, else `fp32`; raises OSError."""
    return "int8" if b"MatMulInteger" in (folder / "second_stage.onnx").read_bytes() else "fp32"


def _open(file: Path) -> Any:
    """The InferenceSession of one graph; raises ModelError."""
    check_plain(file)
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's errors share no public root
        raise ModelError(f"{file} cannot be loaded ({error}).", AGAIN) from None


def _run(session: Any, outputs: list[str], inputs: dict[str, Any]) -> Any:
    """The outputs of a graph; raises ModelError if it does not have or cannot compute them."""
    try:
        return session.run(outputs, inputs)
    except Exception as error:  # ONNX Runtime's errors share no public root
        reason = str(error).partition("\n")[0][:200]
        raise ModelError(f"A graph of the model's ONNX export cannot be computed ({reason}).", AGAIN) from None
