"""Read and check the weights of a checkpoint of another project, and make networks that receive such weights."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from torch.overrides import TorchFunctionMode

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import check_plain

_LISTED = 5  # names in a message


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The tensors of `model.safetensors` by name; raises ModelError if the file is missing or incomplete."""
    file = folder / "model.safetensors"
    check_plain(file)
    try:
        with file.open("rb") as opened:
            is_pointer = opened.read(24) == b"version https://git-lfs."
        if is_pointer:
            raise ModelError(
                f"{file} is only a pointer to the weights, which git has not downloaded.",
                "Run `git lfs pull` in its folder.",
            )
        return load_file(file)
    except FileNotFoundError:
        raise ModelError(
            f"{folder} has no model.safetensors.",
            "Download the complete folder; weights in other formats are not supported.",
        ) from None
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{file} is incomplete ({error}).", "Delete it and download it again.") from None


def check_state(state: Mapping[str, Tensor], shapes: Mapping[str, torch.Size]) -> None:
    """Raise ModelError for tensors that a network of these shapes lacks, does not know, or has in another shape."""
    found = {name: tensor.shape for name, tensor in state.items()}
    if wrong := sorted(name for name in {*shapes, *found} if shapes.get(name) != found.get(name)):
        more = f" and {len(wrong) - _LISTED} more" if len(wrong) > _LISTED else ""
        raise ModelError(
            f"The weights do not fit the config: {', '.join(wrong[:_LISTED])}{more}.",
            "Use the config that these weights were published with.",
        )


@contextmanager
def on_meta_device() -> Iterator[None]:
    """Within the block, new modules have parameters without memory and without initial values."""
    with torch.device("meta"), _NoInitialValues():
        yield


class _NoInitialValues(TorchFunctionMode):
    """Skips the functions of torch.nn.init: on this device they import torch's compiler, which takes seconds."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)
