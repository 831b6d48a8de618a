"""The file of a Condenser's head, with which another run continues."""

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import nn

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import check_plain
from trainer.replacing import replacing, writing


def save_head(head: nn.Module, file: Path) -> None:
    """Replace `file` by the tensors of a head; raises StorageError."""
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in head.state_dict().items()}
    with writing(file), replacing(file) as stream:
        stream.write(save(state))


def load_head(head: nn.Module, file: Path) -> None:
    """Give a head the tensors of `file`; raises ModelError if they are not those of a head of this shape."""
    check_plain(file)
    try:
        state = load_file(file)
        head.load_state_dict(state)
    except FileNotFoundError:
        raise ModelError(f"There is no head in {file}.", "Correct model.head, or leave it out.") from None
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{file} is damaged ({error}).", "Copy it again.") from None
    except RuntimeError:  # of torch: other names or shapes
        raise ModelError(
            f"{file} is the head of another model, or has another number of layers.",
            "Set model.start to the checkpoint beside it, and objective.head_layers as in its run.",
        ) from None
