"""Writing a model as a checkpoint folder: config.json, model.safetensors, tokenizer.json, onnx/."""

import os
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from cdesearch.encode.backends.onnx_export import Precision, text_inputs, write_graph
from cdesearch.errors import InputError, ModelError
from cdesearch.models.backbones.bert import pool_spans
from cdesearch.models.checkpoint_files import FILES, GRAPHS
from cdesearch.models.config import ModelConfig
from cdesearch.models.contextual.model import ContextualModel
from cdesearch.models.contextual.second_stage import read_out
from trainer.replacing import replace_folder

ANOTHER = "Name a new or empty folder."


class _Graph(nn.Module):
    """A function of networks as a module, which is what can be exported."""

    def __init__(self, networks: nn.Module, compute: Callable[..., Any]) -> None:
        super().__init__()
        self.networks = networks
        self._compute = compute

    def forward(self, *inputs: Tensor) -> Any:
        return self._compute(*inputs)


def check_out(folder: Path, inputs: Sequence[Path]) -> None:
    """Raise InputError unless `folder` is new, empty, or a checkpoint to replace, and none of `inputs`."""
    for source in inputs:
        if folder.exists() and source.exists() and folder.samefile(source):
            raise InputError(f"{folder} is an input, which would be overwritten.", ANOTHER)
    check_entries(folder)
    try:
        if folder.exists() and any(folder.iterdir()):
            ModelConfig.load(folder)
    except ModelError:
        raise InputError(f"{folder} is not empty and not a checkpoint of cdesearch.", ANOTHER) from None


def check_entries(folder: Path) -> None:
    """Raise InputError if `folder` contains anything that `export` does not write, because it would be deleted."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder.", ANOTHER)
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            entry = Path(parent, name)
            inside = entry.relative_to(folder).as_posix()
            is_own = inside in (*FILES, *GRAPHS) if name in files else inside == "onnx" and not entry.is_symlink()
            if not is_own:
                raise InputError(f"{entry} is not part of a checkpoint, and would be deleted.", ANOTHER)


def export(
    model: ContextualModel,
    tokenizer: Path,
    folder: Path,
    precision: Precision = "fp32",
    dtype: torch.dtype = torch.float32,
) -> None:
    """Write the whole checkpoint folder. An earlier checkpoint is replaced at the end, and kept if writing fails.

    Raises ModelError if there is no tokenizer, InputError if the folder contains anything but a checkpoint, and
    StorageError if it cannot be written. ONNX graphs are written if onnx is installed. Models with joint attention have
    none, because they run on torch alone. If every gate is zero, the graph has no inputs for a context, and a shared
    first stage needs no graph of its own.
    """
    if not tokenizer.is_file():
        raise ModelError(f"There is no file {tokenizer}.", "Copy the tokenizer.json of the model there.")
    check_entries(folder)
    model.eval().cpu()
    replace_folder(folder, lambda unfinished: _write_files(model, tokenizer, unfinished, precision, dtype))


def writing_options(parser: ArgumentParser, precision: Precision) -> None:
    """Add the options with which a program writes a checkpoint; `precision` is the default."""
    about = f"precision of the ONNX export; default: {precision}"
    parser.add_argument("--precision", choices=["int8", "fp32"], default=precision, help=about)
    parser.add_argument("--half", action="store_true", help="store model.safetensors in fp16")


def export_as(model: ContextualModel, tokenizer: Path, options: Namespace) -> None:
    """Write the checkpoint folder `out` of a program with these options; raises what `export` does."""
    if not model.second_stage.joint and find_spec("onnx") is None:
        print("onnx is not installed: the checkpoint gets no ONNX graphs. `pip install onnx` helps.", file=sys.stderr)
    dtype = torch.float16 if options.half else torch.float32
    export(model, tokenizer, options.out, options.precision, dtype)


def _write_files(
    model: ContextualModel, tokenizer: Path, folder: Path, precision: Precision, dtype: torch.dtype
) -> None:
    folder.mkdir(parents=True)
    replace(model.config, weights_hash=model.weights_hash()).save(folder)
    state = {name: tensor.detach().to(dtype).contiguous() for name, tensor in model.state_dict().items()}
    try:
        save_file(state, folder / "model.safetensors")
    except SafetensorError as error:  # it contains the error of the disk only as text
        raise OSError(str(error)) from None
    shutil.copymode(folder / "config.json", folder / "model.safetensors")  # safetensors writes files of mode 0600
    shutil.copyfile(tokenizer, folder / "tokenizer.json")
    if model.second_stage.joint or find_spec("onnx") is None:
        return
    (folder / "onnx").mkdir()
    _export_second_stage(model, folder / "onnx" / "second_stage.onnx", precision)
    if model.own_first_stage is not None or not model.second_stage.gates_are_zero:
        ids = torch.ones(2, 3, 4, dtype=torch.long)
        text = {0: "batch", 1: "spans", 2: "tokens"}
        file = folder / "onnx" / "first_stage.onnx"

        def first_stage(input_ids: Tensor) -> Tensor:
            states = model.first_states(input_ids.flatten(0, 1), None)
            return pool_spans(states.mean(1), torch.ones_like(input_ids))

        write_graph(_Graph(model, first_stage), {"input_ids": (ids, text)}, ["vectors"], file, precision)


def _export_second_stage(model: ContextualModel, file: Path, precision: Precision) -> None:
    stage, d = model.second_stage, model.config.backbone.dimension
    inputs = text_inputs(d)
    if not stage.gates_are_zero:
        for name in ("keys", "values"):
            inputs[name] = (torch.randn(len(stage.gates), 4, d), {1: "context"})
        rows = {0: "context"}
        cache_inputs = {"vectors": (torch.randn(4, d), rows), "is_null": (torch.zeros(4, dtype=torch.bool), rows)}
        # This graph runs once for each corpus, so exactness matters more than speed.
        write_graph(_Graph(stage, stage.cache), cache_inputs, ["keys", "values"], file.with_name("cache.onnx"), "fp32")

    def second_stage(
        input_ids: Tensor, weights: Tensor, shift: Tensor, projection: Tensor, *cached: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        states = stage.states(input_ids.flatten(0, 1), None, *(cached or (None, None)))
        return *read_out(states, weights, shift, projection), states.unflatten(0, input_ids.shape[:2])

    write_graph(_Graph(stage, second_stage), inputs, ["pooled", "vectors", "states"], file, precision)
