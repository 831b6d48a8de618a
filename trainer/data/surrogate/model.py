"""The frozen surrogate as an encoder: on a GPU if there is one, else on the CPU by ONNX Runtime or torch."""

from importlib.util import find_spec
from pathlib import Path

import torch

from cdesearch.encode.backends.onnx import export_precision
from cdesearch.encode.backends.torch import TorchRuntime
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import load_encoder, load_tokenizer
from cdesearch.models.hub import checkpoint_folder
from cdesearch.models.registry import family_of


def open_surrogate(folder: Path, device: torch.device) -> Encoder:
    """Open any model that `load_encoder` opens; raises ModelError.

    Only a CPU with ONNX Runtime uses an ONNX export. The fingerprint is the same on every device, so stored vectors can
    be used on all of them. It includes the precision of the export, since exports of one model share the rest.
    """
    folder = checkpoint_folder(folder)
    loaded = family_of(folder).open(folder)
    if device.type == "cpu" and loaded.onnx is not None and find_spec("onnxruntime") is not None:
        encoder = load_encoder(folder, "cpu")
    else:
        runtime = TorchRuntime(loaded.load_network(), device)
        encoder = Encoder(loaded.config, load_tokenizer(loaded.tokenizer), runtime, loaded.fingerprint)
    precision = "fp32" if loaded.onnx is None else export_precision(loaded.onnx)
    return encoder.with_fingerprint(f"{loaded.fingerprint} {precision}")
