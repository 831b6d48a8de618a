"""Write ONNX graphs from torch modules, in fp32 or quantised to int8."""

import logging
import shutil
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import torch
from torch import Tensor, nn

from cdesearch.encode.backends.onnx_import import import_onnxruntime
from cdesearch.models.backbones.bert import pool_spans
from cdesearch.models.contextual.second_stage import statistics_head

Precision = Literal["fp32", "int8"]
Inputs = Mapping[str, tuple[Tensor, dict[int, str]]]  # by name: an example, and the names of the axes that vary


def write_graph(graph: nn.Module, inputs: Inputs, outputs: Sequence[str], file: Path, precision: Precision) -> None:
    """Write one graph. Any exception of the libraries may be raised."""
    with TemporaryDirectory(dir=file.parent) as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns about its own successor and about traced shapes
        exact = Path(scratch) / "exact.onnx"
        torch.onnx.export(
            graph.eval(),
            tuple(tensor for tensor, _ in inputs.values()),
            str(exact),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes={name: axes for name, (_, axes) in inputs.items() if axes},
            opset_version=17,
            dynamo=False,
        )
        if precision == "int8":
            _quantize(exact, file)
        else:
            shutil.copyfile(exact, file)


def text_inputs(dimension: int) -> dict[str, tuple[Tensor, dict[int, str]]]:
    """The inputs of a second stage that reads no context."""
    text = {0: "batch", 1: "spans", 2: "tokens"}
    return {
        "input_ids": (torch.ones(2, 3, 4, dtype=torch.long), text),
        "weights": (torch.ones(2, 3, 4), text),
        "shift": (torch.zeros(dimension), {}),
        "projection": (torch.eye(dimension), {}),
    }


def write_biencoder(network: Any, dimension: int, file: Path, precision: Precision = "int8") -> None:
    """Write the second stage of a biencoder. Any exception of the libraries may be raised."""
    outputs = ["pooled", "vectors", "states"]
    # A decoder's own mask can be traced only if it is combined with one for padding.
    graph = _BiencoderGraph(network, has_mask=network.is_causal)
    write_graph(graph, text_inputs(dimension), outputs, file, precision)


class _BiencoderGraph(nn.Module):
    def __init__(self, network: Any, *, has_mask: bool) -> None:
        super().__init__()
        self.network = network
        self._has_mask = has_mask

    def forward(
        self, input_ids: Tensor, weights: Tensor, shift: Tensor, projection: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        ids = input_ids.flatten(0, 1)
        mask = torch.ones_like(ids)
        states = self.network.token_states(ids, mask if self._has_mask else None, None)
        pooled = pool_spans(self.network.pool(states, mask, weights.flatten(0, 1)), weights)
        return pooled, statistics_head(pooled, shift, projection), states.unflatten(0, input_ids.shape[:2])


def _quantize(exact: Path, file: Path) -> None:
    """Quantise weights to int8 by channel, and activations at run time."""
    import_onnxruntime()
    from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: TID251 (telemetry is off by now)

    before = logging.root.manager.disable
    logging.disable(logging.WARNING)  # the advice of the quantiser
    try:
        quantize_dynamic(
            exact,
            file,
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=True,  # without VNNI the full range overflows 16 bits
            extra_options={"MatMulConstBOnly": True},
        )
    finally:
        logging.disable(before)
