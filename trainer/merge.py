"""The weighted mean of checkpoints that were trained from one start.

    python -m trainer.merge OUT FOLDER=SHARE FOLDER=SHARE ... [--precision int8|fp32] [--half]

The mean of a start and a model trained from it is often better than both (Wortsman et al., 2022: model soups).
"""

import argparse
from collections.abc import Mapping
from dataclasses import astuple, replace
from pathlib import Path

from trainer.torch_needed import exit_without_torch

if __name__ == "__main__":
    exit_without_torch()  # before the imports below fail

import torch

from cdesearch.errors import CdesearchError, InputError, ModelError
from cdesearch.models.config import StatisticsConfig
from cdesearch.models.contextual.model import ContextualModel, load_checkpoint
from trainer.export import export
from trainer.start import is_published, start_model


def merge(shares: Mapping[Path, float]) -> ContextualModel:
    """The weighted mean of checkpoints, and of published biencoders as starts; raises ModelError, InputError."""
    total = sum(shares.values())
    if total <= 0 or min(shares.values()) < 0:
        raise InputError(
            "Shares must not be negative, and one must be above zero.", "Write FOLDER=SHARE, as in trained=0.7."
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
    try:
        return Path(folder), float(share)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not FOLDER=SHARE") from None


def main() -> None:
    """Write the merged checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("shares", type=_share, nargs="+", metavar="FOLDER=SHARE")
    parser.add_argument("--precision", choices=["int8", "fp32"], default="fp32")
    parser.add_argument("--half", action="store_true", help="store model.safetensors in fp16")
    arguments = parser.parse_args()
    shares = dict(arguments.shares)
    try:
        model = merge(shares)
    except CdesearchError as error:
        parser.exit(error.exit_code, f"error: {error}\n")
    dtype = torch.float16 if arguments.half else torch.float32
    export(model, next(iter(shares)) / "tokenizer.json", arguments.out, arguments.precision, dtype)


if __name__ == "__main__":
    main()
