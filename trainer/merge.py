"""The weighted mean of checkpoints that were trained from one start.

    python -m trainer.merge OUT FOLDER=SHARE FOLDER=SHARE ... [--slerp] [--precision int8|fp32] [--half]

The mean of a start and a model trained from it is often better than both (Wortsman et al., 2022: model soups). With
--slerp, each tensor of the second of two checkpoints is reached along an arc, which keeps its length, instead of a line
(pplx-embed merges its contextual and its triplet stage in this way). The merged model reads the chunks of a document
together, or each alone, as the first checkpoint does.
"""

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

from trainer.reporting import exit_without_torch

if __name__ == "__main__":
    exit_without_torch()  # before the imports below, which need torch

import torch
from torch import Tensor
from torch.nn import functional

from cdesearch.encode.load import load_tokenizer
from cdesearch.errors import InputError, ModelError
from cdesearch.models.config import StatisticsConfig
from cdesearch.models.contextual.model import ContextualModel
from trainer.export import check_out, export_as, writing_options
from trainer.reporting import Parser, reported
from trainer.run.folder import next_step
from trainer.start import is_published, open_start

PARALLEL = 0.9995  # the cosine of two tensors above which an arc is a line


def merge(shares: Mapping[Path, float], *, along_arc: bool = False) -> ContextualModel:
    """The weighted mean of checkpoints, and of published biencoders as starts; raises ModelError, InputError.

    With `along_arc`, two checkpoints are interpolated by `slerp`, tensor by tensor. The numbers of the whitening are
    always a mean.
    """
    if along_arc and len(shares) != 2:
        raise InputError(f"--slerp merges two checkpoints, not {len(shares)}.", "Name two.")
    total = sum(shares.values())
    if not 0 < total < math.inf or min(shares.values()) < 0:
        raise InputError(
            "Shares must be finite and not negative, and one must be above zero.",
            "Write FOLDER=SHARE, as in trained=0.7.",
        )
    models = {folder: open_start(folder) for folder in shares}
    first_folder, first = next(iter(models.items()))
    merged = {name: torch.zeros_like(tensor) for name, tensor in first.state_dict().items()}
    numbers = torch.zeros(len(astuple(first.config.statistics)), dtype=torch.float64)
    for folder, model in models.items():
        state, share = model.state_dict(), shares[folder] / total
        if _tokenizer(folder) != _tokenizer(first_folder):
            raise ModelError(f"{folder} has another tokenizer than {first_folder}.", "Merge checkpoints of one start.")
        if {name: tensor.shape for name, tensor in state.items()} != {n: t.shape for n, t in merged.items()}:
            raise ModelError(f"{folder} has other shapes than {first_folder}.", "Merge checkpoints of one start.")
        for name, tensor in state.items():
            if along_arc and folder != first_folder:
                merged[name] = slerp(first.state_dict()[name], tensor, share)
            else:
                merged[name] += share * tensor
        numbers += share * torch.tensor(astuple(model.config.statistics), dtype=torch.float64)
    first.load_state_dict(merged)
    query, document = _prefixes(models)
    statistics = StatisticsConfig(*numbers.tolist())
    first.config = replace(first.config, statistics=statistics, query_prefix=query, document_prefix=document)
    return first


def _prefixes(models: Mapping[Path, ContextualModel]) -> tuple[str, str]:
    """The prefixes of queries and documents, which a published start does not record; raises ModelError."""
    trained = {folder: model.config for folder, model in models.items() if not is_published(folder)}
    found = {folder: (config.query_prefix, config.document_prefix) for folder, config in trained.items()}
    first_folder, first = next(iter(found.items()), (Path(), ("", "")))
    for folder, prefixes in found.items():
        if prefixes != first:
            raise ModelError(
                f"{folder} has the prefixes {prefixes}, and {first_folder} has {first}.",
                "Merge checkpoints that were trained with the same prefixes.",
            )
    return first


def _tokenizer(folder: Path) -> dict[str, Any]:
    """The parts of a tokenizer that determine the tokens; padding and truncation are set again when it is loaded."""
    parts: dict[str, Any] = json.loads(load_tokenizer(folder / "tokenizer.json").to_str())
    return {name: part for name, part in parts.items() if name not in ("padding", "truncation")}


def slerp(one: Tensor, other: Tensor, share: float) -> Tensor:
    """The point at `share` of the way from one tensor to the other, along the arc between their directions.

    It is sin((1 - t) a) / sin(a) times the one plus sin(t a) / sin(a) times the other, where a is the angle between
    them (Shoemake, 1985). If the cosine of the angle is above PARALLEL in size, or a tensor is zero, it is the mean.
    """
    cosine = functional.cosine_similarity(one.double().flatten(), other.double().flatten(), dim=0).clamp(-1, 1)
    if not abs(cosine) <= PARALLEL or not one.any() or not other.any():
        return (1 - share) * one + share * other
    angle = torch.arccos(cosine)
    weights = torch.sin((1 - share) * angle) / torch.sin(angle), torch.sin(share * angle) / torch.sin(angle)
    return (weights[0] * one.double() + weights[1] * other.double()).to(one.dtype)


def _share(text: str) -> tuple[Path, float]:
    folder, _, share = text.rpartition("=")
    with suppress(ValueError):
        if folder and math.isfinite(number := float(share)):
            return Path(folder), number
    raise argparse.ArgumentTypeError(f"{text} is not FOLDER=SHARE")


@reported
def main(arguments: Sequence[str] | None = None) -> int:
    """Write the merged checkpoint; returns the exit code. Every error is one line on stderr."""
    parser = Parser(prog="python -m trainer.merge", description=__doc__)
    parser.add_argument("out", type=Path, help="folder of the merged checkpoint")
    parser.add_argument("shares", type=_share, nargs="+", metavar="FOLDER=SHARE", help="a checkpoint and its share")
    parser.add_argument("--slerp", action="store_true", help="merge two checkpoints along an arc")
    writing_options(parser, "fp32")
    options = parser.parse_args(arguments)
    shares = dict(options.shares)
    if len({folder.resolve() for folder in shares}) < len(options.shares):
        raise InputError("A folder is named twice.", "Name it once, with the sum of its shares.")
    check_out(options.out, list(shares))
    export_as(merge(shares, along_arc=options.slerp), next(iter(shares)) / "tokenizer.json", options)
    print(f"The merged checkpoint is in {options.out}. {next_step(options.out)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
