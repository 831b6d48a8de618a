"""The weighted mean of checkpoints that were trained from one start.

    python -m trainer.merge OUT FOLDER=SHARE FOLDER=SHARE ... [--precision int8|fp32] [--half]

The mean of a start and a model trained from it is often better than both (Wortsman et al., 2022: model soups).
"""

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, replace
from pathlib import Path

from trainer.torch_needed import exit_without_torch

if __name__ == "__main__":
    exit_without_torch(__doc__)  # before the imports below, which need torch

import torch

from cdesearch.errors import InputError, ModelError
from cdesearch.models.config import StatisticsConfig
from cdesearch.models.contextual.model import ContextualModel, load_checkpoint
from trainer.export import check_out, export
from trainer.reporting import Parser, reported
from trainer.start import is_published, start_model


def merge(shares: Mapping[Path, float]) -> ContextualModel:
    """The weighted mean of checkpoints, and of published biencoders as starts; raises ModelError, InputError."""
    total = sum(shares.values())
    if not 0 < total < math.inf or min(shares.values()) < 0:
        raise InputError(
            "Shares must be finite and not negative, and one must be above zero.",
            "Write FOLDER=SHARE, as in trained=0.7.",
        )
    models = {folder: start_model(folder) if is_published(folder) else load_checkpoint(folder) for folder in shares}
    first = next(iter(models.values()))
    merged = {name: torch.zeros_like(tensor) for name, tensor in first.state_dict().items()}
    numbers = torch.zeros(len(astuple(first.config.statistics)), dtype=torch.float64)
    for folder, model in models.items():
        state, share = model.state_dict(), shares[folder] / total
        if {name: tensor.shape for name, tensor in state.items()} != {n: t.shape for n, t in merged.items()}:
            raise ModelError(f"{folder} has other shapes than {next(iter(models))}.", "Merge checkpoints of one start.")
        for name, tensor in state.items():
            merged[name] += share * tensor
        numbers += share * torch.tensor(astuple(model.config.statistics), dtype=torch.float64)
    first.load_state_dict(merged)
    first.config = replace(first.config, statistics=StatisticsConfig(*numbers.tolist()))
    return first


def _share(text: str) -> tuple[Path, float]:
    folder, _, share = text.rpartition("=")
    with suppress(ValueError):
        if folder and math.isfinite(number := float(share)):
            return Path(folder), number
    raise argparse.ArgumentTypeError(f"{text} is not FOLDER=SHARE")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the merged checkpoint; returns the exit code. Every error is one line on stderr."""
    return reported(lambda: _write_merged(arguments))


def _write_merged(arguments: Sequence[str] | None) -> int:
    parser = Parser(
        prog="python -m trainer.merge", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="folder of the merged checkpoint")
    parser.add_argument("shares", type=_share, nargs="+", metavar="FOLDER=SHARE", help="a checkpoint and its share")
    parser.add_argument(
        "--precision", choices=["int8", "fp32"], default="fp32", help="precision of the ONNX export; default: fp32"
    )
    parser.add_argument("--half", action="store_true", help="store model.safetensors in fp16")
    options = parser.parse_args(arguments)
    shares = dict(options.shares)
    check_out(options.out, list(shares))
    dtype = torch.float16 if options.half else torch.float32
    export(merge(shares), next(iter(shares)) / "tokenizer.json", options.out, options.precision, dtype)
    return 0


if __name__ == "__main__":
    sys.exit(main())
