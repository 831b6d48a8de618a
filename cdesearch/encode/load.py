"""Load a checkpoint folder of any family as an encoder."""

import os
import warnings
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

from tokenizers import Tokenizer

from cdesearch.encode.encoder import Encoder
from cdesearch.encode.exports import REFUSED, export_folder, find_export
from cdesearch.encode.length_batches import reporting_failure
from cdesearch.encode.runtime import Runtime, Unexported
from cdesearch.errors import IndexStateError, InputError, ModelError, extra_with_torch
from cdesearch.models.checkpoint_files import DEFAULT_MODEL, MAX_TOKENIZER_BYTES, check_plain
from cdesearch.models.config import fingerprint_with_added_context, with_added_context
from cdesearch.models.endpoint_model import EndpointModel, Model
from cdesearch.models.family import TOKENIZER, LoadedModel, ModelFamily
from cdesearch.models.hub import checkpoint_folder
from cdesearch.models.registry import family_of
from cdesearch.slim_imports import allow_pandas

Device = Literal["auto", "cpu", "cuda", "mps"]

_owner: int | None = None  # the first process that used threads of libraries; a forked child inherits the value


def claim_process() -> None:
    """Record that this process uses LanceDB and models; raises IndexStateError in a child that was forked from it.

    LanceDB, ONNX Runtime and this package use threads, and a forked child has none of them: a search in it would wait
    for an answer forever. The warning of LanceDB in such a child is not shown, because the error says more.
    """
    global _owner  # noqa: PLW0603 (the state of a process)
    process = os.getpid()
    if _owner is None:
        _owner = process
        warnings.filterwarnings("ignore", "lancedb fork support is experimental", RuntimeWarning)
    if _owner != process:
        raise IndexStateError(
            f"This process was forked from process {_owner}, whose open indexes and models work only there.",
            'Start it with the method "spawn" (multiprocessing.get_context("spawn")), and open the index in it.',
        )


def check_model(model: Model | None) -> None:
    """Raise ModelError or InputError if `model` cannot be opened for a reason that shows without loading it."""
    if model is None:
        return
    if isinstance(model, EndpointModel):
        from cdesearch.encode.backends.endpoint import EmbeddingServer

        EmbeddingServer.of(model.url, model.name)
        return
    folder = checkpoint_folder(model)
    family = family_of(folder)
    if family.needs_torch and find_spec("torch") is None:
        export_to = export_folder(family.open(folder).fingerprint) if family.is_exported else None
        if find_export(export_to) is None:
            _require_torch(folder, family, export_to)


def check_plain_model(model: Model | None) -> None:
    """Raise InputError if nothing would be added to `model` in any case, because it was trained to read a corpus."""
    if isinstance(model, EndpointModel):
        return
    folder = DEFAULT_MODEL if model is None else checkpoint_folder(model)
    if family_of(folder).reads_corpus:
        raise InputError(
            f"{'The default model' if model is None else folder} was trained to read a corpus. Nothing is added to it,"
            " so --plain has no effect.",
            "Leave --plain out, or name a published model with --model.",
        )


def check_device(device: str) -> None:
    """Raise InputError if there is no device of that name on any machine."""
    if device not in get_args(Device):
        raise InputError(f"There is no device {device}.", f"Use one of {', '.join(get_args(Device))}.")


def load_encoder(
    model: Model | None = None, device: Device = "auto", *, fetch: bool = True, plain: bool = False
) -> Encoder:
    """Open a model: a folder, an id on the hub, one on a server, or for None the model that ships; raises ModelError.

    Without `fetch` an id must be in the cache. `Index.model_to_open` is the model of an index. A model that does not
    come from this project gets statistics of the corpus and document context, unless it is `plain`. A CPU runs the ONNX
    export if there is one, without torch. Everything else runs on torch. Raises IndexStateError in a forked child of a
    process that has loaded a model, see `claim_process`.
    """
    check_device(device)
    claim_process()
    if isinstance(model, EndpointModel):
        from cdesearch.encode.remote import open_remote

        return open_remote(model, default_tokenizer(), plain=plain)
    folder = DEFAULT_MODEL if model is None else checkpoint_folder(model, fetch=fetch)
    family = family_of(folder)
    if family.needs_torch and not family.is_exported:
        _require_torch(folder, family)
    loaded = family.open(folder)
    export_to = export_folder(loaded.fingerprint) if family.is_exported else None
    if (exported := find_export(export_to)) is not None:
        loaded = replace(loaded, onnx=exported)
    tokenizer = load_tokenizer(loaded.tokenizer)
    if not (plain or family.reads_corpus):
        fingerprint = fingerprint_with_added_context(loaded.fingerprint)
        loaded = replace(loaded, config=with_added_context(loaded.config), fingerprint=fingerprint)
    runtime: Runtime
    if loaded.onnx is not None and device in ("auto", "cpu"):
        from cdesearch.encode.backends.onnx import OnnxRuntime

        runtime = OnnxRuntime(loaded.onnx, loaded.config.backbone.dimension)
    else:
        _require_torch(folder, family, export_to, device if loaded.onnx else None)
        from cdesearch.encode.backends.torch import TorchRuntime, pick_device

        runtime = TorchRuntime(loaded.load_network(), pick_device(device))
    encoder = Encoder(loaded.config, tokenizer, runtime, loaded.fingerprint, _separator(loaded, tokenizer))
    encoder.remark = loaded.remark
    if export_to is not None and runtime.cpu_network is not None and not (export_to / REFUSED).is_file():
        encoder.unexported = Unexported(runtime.cpu_network, export_to)
    return encoder


def _separator(loaded: LoadedModel, tokenizer: Tokenizer) -> int | None:
    """The id of the token between the chunks of a document; None if each is read alone. Raises ModelError."""
    if loaded.separator is None:
        return None
    found = tokenizer.token_to_id(loaded.separator)
    if found is None:
        raise ModelError(
            f"{loaded.tokenizer} has no token {loaded.separator}, which separates the chunks of a document.",
            "Copy the checkpoint again, with its own tokenizer.",
        )
    return found


@cache
def default_tokenizer() -> Tokenizer:
    """The tokenizer of the default model, which also measures texts for models on a server."""
    return load_tokenizer(DEFAULT_MODEL / TOKENIZER)


def load_tokenizer(file: Path) -> Tokenizer:
    """A tokenizer that neither truncates nor pads; raises ModelError."""
    check_plain(file, MAX_TOKENIZER_BYTES)
    with reporting_failure(f"{file} cannot be read"):
        tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with reporting_failure(f"The tokenizer {file} fails"):
        tokenizer.encode("It reads 1 text.")
    return tokenizer


def _require_torch(folder: Path, family: ModelFamily, export_to: Path | None = None, device: str | None = None) -> None:
    """Raise ModelError unless torch is installed, which a model needs without an ONNX export, or on another device."""
    if find_spec("torch") is not None:
        allow_pandas()
        return
    remedy = extra_with_torch("hub" if family.needs_transformers else "torch")
    if device is not None:
        cause = f"torch is not installed, and the device {device} needs it."
        raise ModelError(cause, f"{remedy} Or leave the device out.")
    reason = "" if export_to is None else f" There is no ONNX export of it in {export_to}, which would run without."
    raise ModelError(f"The model in {folder} needs torch, which is not installed.{reason}", remedy)
