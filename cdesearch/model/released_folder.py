"""A released checkpoint as it lies in a folder: config.json and model.safetensors, as downloaded."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from cdesearch.errors import ModelError
from cdesearch.model.released import ReleasedModel, Variant, load_released

_HOW = "Download jxm/cde-small-v1 or jxm/cde-small-v2 whole and name its folder."


def open_released(
    folder: Path, compat: Literal["hub_remote_code"] | None = None, backbone: Mapping[str, Any] | None = None
) -> ReleasedModel:
    """Read a released checkpoint's folder into fp32; raises ModelError. Nothing is downloaded, no code of it runs.

    `compat="hub_remote_code"` computes a v1 as the code beside it on the hub does, faults included, and not as it was
    trained. `backbone`: fields of the backbone's own config.json, where they are not the published ones.
    """
    config = _read_config(folder)
    variant: Variant | None = None
    if compat is not None:
        if compat != "hub_remote_code":
            raise ModelError(f"There is no compat={compat!r}.", 'Leave it out, or name "hub_remote_code".')
        variant = "v1_hub_remote_code"
    state = _read_weights(folder)
    try:
        return load_released(config, state, backbone, variant)
    except ModelError as error:
        raise ModelError(f"{folder} cannot be loaded: {error.cause}", error.remedy) from None


def _read_config(folder: Path) -> dict[str, Any]:
    file = folder / "config.json"
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{folder} is no checkpoint: it has no config.json.", _HOW) from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read ({error}).", _HOW) from None
    if not isinstance(config, dict) or "embedder" not in config:
        raise ModelError(f"{file} is of no released checkpoint: it names no embedder.", _HOW)
    return config


def _read_weights(folder: Path) -> dict[str, Tensor]:
    file = folder / "model.safetensors"
    try:
        with file.open("rb") as opened:
            is_pointer = opened.read(24) == b"version https://git-lfs."
        if is_pointer:
            raise ModelError(
                f"{file} only points to the weights, which git has not fetched.", "Run git lfs pull there."
            )
        return load_file(file)
    except FileNotFoundError:
        raise ModelError(f"{folder} has no model.safetensors.", _HOW) from None
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{file} is not whole ({error}).", "Download it again.") from None
