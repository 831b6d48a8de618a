"""Read the weights of a checkpoint of another project."""

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import check_plain


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
