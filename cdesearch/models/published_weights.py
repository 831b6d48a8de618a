"""Read and check the weights of a checkpoint of another project, and make networks that receive such weights.

The library transformers, which makes some of them, never downloads anything here, and never runs code of a folder.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from cdesearch.errors import ModelError, extra_with_torch
from cdesearch.models.checkpoint_files import DOWNLOAD_AGAIN, check_plain

_LISTED = 5  # names in a message
_UNUSED = ("pooler.", "position_ids")  # parts of the names of weights that vectors do not depend on
_MOST_MISSING = 10_000_000  # numbers of a network, such as a pooler's, that the weights may lack


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


class NetworkWithoutContext(nn.Module):
    """What the networks of published models that read no context have in common. `Network` describes the methods."""

    reads_context = False
    prefix_rows = 0

    def first_stage(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        first: Tensor = self.pooled(input_ids, attention_mask, attention_mask, None)[0]  # type: ignore[operator] # of a subclass
        return first

    def cache(self, vectors: Tensor, is_null: Tensor) -> None:
        """Nothing is stored with a context."""

    def prepare_context(self, vectors: Tensor, is_null: Tensor, cached: None) -> None:
        """There is none."""


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


@contextmanager
def loading_from(folder: Path) -> Iterator[Any]:
    """The library, without its warnings and progress bars; any failure within becomes a ModelError for `folder`."""
    try:
        with _quiet_transformers() as transformers:
            yield transformers
    except ImportError:
        raise ModelError(
            f"The model in {folder} needs transformers, which is not installed.", extra_with_torch("hub")
        ) from None
    except ModelError as error:
        raise ModelError(f"{folder} cannot be loaded: {error.cause}", error.remedy) from None
    except Exception as error:  # a configuration that is not one can make any part of the library fail
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(f"{folder} cannot be loaded: {reason:.300}.", DOWNLOAD_AGAIN) from None


def load_weights(auto: Any, config: Any, folder: Path, attention: str) -> nn.Module:
    """The network of a configuration in fp32, with the weights of `folder`; raises ModelError if some lack.

    `auto` is the class of the library that selects the network, such as AutoModel. The library gets no folder, because
    it would read other files that a config names, or that have certain names. `attention` names the kernel, because a
    config may name one that the library would download and run.
    """
    state = read_weights(folder)
    with on_meta_device():
        described = auto.from_config(config, trust_remote_code=False, attn_implementation=attention)
    needed = sum(tensor.numel() for tensor in described.parameters())
    stored = sum(tensor.numel() for tensor in state.values())
    if needed > 2 * stored + _MOST_MISSING:  # the library would make what lacks, however large it is
        raise ModelError(
            f"Its config.json describes {needed:,} numbers, and model.safetensors has {stored:,}.", DOWNLOAD_AGAIN
        )
    loaded, report = type(described).from_pretrained(
        None,
        config=config,
        state_dict=state,
        dtype=torch.float32,
        attn_implementation=attention,
        output_loading_info=True,
    )
    missing = sorted(name for name in report["missing_keys"] if not any(part in name for part in _UNUSED))
    if missing or report.get("mismatched_keys"):
        named = missing or sorted(map(str, report["mismatched_keys"]))
        raise ModelError(f"The weights lack {', '.join(named[:5])}.", DOWNLOAD_AGAIN)
    loaded.config.use_cache = False
    module: nn.Module = loaded
    return module


@contextmanager
def _quiet_transformers() -> Iterator[Any]:
    """The library transformers without its warnings and progress bars."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import transformers

        logging: Any = transformers.utils.logging
        verbosity, has_bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        try:
            yield transformers
        finally:
            logging.set_verbosity(verbosity)
            if has_bar:
                logging.enable_progress_bar()
