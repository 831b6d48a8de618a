"""Compiling the layers of a model for training (`learning.compile`)."""

from collections.abc import Iterator
from contextlib import contextmanager

from cdesearch.models.backbones.bert import Block
from cdesearch.models.contextual.model import ContextualModel

BACKEND = "inductor"


def compile_layers(model: ContextualModel) -> None:
    """Compile every transformer layer on its first call. Batches of other sizes and lengths use the same code."""
    for layer in _layers(model):
        layer.compile(backend=BACKEND, dynamic=True)


@contextmanager
def as_written(model: ContextualModel) -> Iterator[None]:
    """Within this context manager, compiled layers run as they are written, as an export to ONNX needs them."""
    compiled = [(layer, layer._compiled_call_impl) for layer in _layers(model)]
    for layer, _ in compiled:
        layer._compiled_call_impl = None
    try:
        yield
    finally:
        for layer, call in compiled:
            layer._compiled_call_impl = call


def _layers(model: ContextualModel) -> Iterator[Block]:
    return (module for module in model.modules() if isinstance(module, Block))
