"""Models that have shapes and no values: to be checked, or filled with the tensors of a checkpoint."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


@contextmanager
def on_meta_device() -> Iterator[None]:
    """Modules that are made within have parameters without memory and without initial values."""
    with torch.device("meta"), _NoInitialValues():
        yield


class _NoInitialValues(TorchFunctionMode):
    """Skips the functions of torch.nn.init, which on this device import torch's compiler: seconds of processor time."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)
