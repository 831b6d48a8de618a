"""Cast weights to half precision once a step; autocast would cast them again for every micro-batch."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def cast_once(model: nn.Module, precision: torch.dtype) -> Iterator[None]:
    """Within the block, weights and biases of linear layers are copies in `precision`.

    Their gradients reach the parameters, where they are summed in fp32. With fp32 nothing is copied.
    """
    layers = [] if precision == torch.float32 else [m for m in model.modules() if isinstance(m, nn.Linear)]
    parameters = [dict(layer._parameters) for layer in layers]
    with torch.enable_grad():
        for layer, own in zip(layers, parameters, strict=True):
            for name, parameter in own.items():
                if parameter is not None:
                    del layer._parameters[name]
                    setattr(layer, name, parameter.to(precision))
    try:
        yield
    finally:
        for layer, own in zip(layers, parameters, strict=True):
            for name in own:
                layer.__dict__.pop(name, None)
            layer._parameters.update(own)
