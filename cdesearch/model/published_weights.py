"""The weights of a checkpoint that somebody else has published, or what is wrong with their file."""

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from cdesearch.errors import ModelError
from cdesearch.model.files import check_plain


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The tensors of `model.safetensors` by name; raises ModelError where it is missing or not whole."""
    file = folder / "model.safetensors"
    check_plain(file)
    try:
        with file.open("rb") as opened:
            is_pointer = opened.read(24) == b"version https://git-lfs."
        if is_pointer:
            raise ModelError(
                f"{file} only points to the weights, which git has not fetched.", "Run git lfs pull there."
            )
        return load_file(file)
    except FileNotFoundError:
        raise ModelError(
            f"{folder} has no model.safetensors.", "Download the folder whole; weights in other formats are not read."
        ) from None
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{file} is not whole ({error}).", "Delete it and download it again.") from None
