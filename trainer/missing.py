"""What a recipe names and this machine does not have: found before the preparation, which can take hours."""

from collections.abc import Iterator
from importlib.util import find_spec

import torch

from cdesearch.errors import InputError
from cdesearch.models.hub import checkpoint_folder
from cdesearch.models.registry import family_of
from trainer.data.pairs.reading import domain_files, domain_name
from trainer.recipe import Recipe


def missing_libraries(recipe: Recipe, device: torch.device) -> Iterator[str]:
    """One line for each missing library that the recipe would use, with its replacement."""
    if device.type == "cuda" and recipe.learning.precision == "bf16" and not find_spec("flash_attn"):
        yield "flash-attn is not installed: attention by torch."
    if recipe.model.context != "joint" and not find_spec("onnx"):
        yield (
            "onnx is not installed: the checkpoint gets no ONNX graphs."
            " `python -m trainer.merge OUT CHECKPOINT=1` adds them on a machine with onnx."
        )


def check_named(recipe: Recipe) -> None:
    """Raise InputError for a domain that no pair file has or a missing library, ModelError for another surrogate."""
    files = domain_files(recipe.data.pairs)
    domains = list(map(domain_name, files))
    if unknown := sorted(set(recipe.data.held_out_domains) - set(domains)):
        raise InputError(
            f"data.held_out_domains names {', '.join(unknown)}, which data.pairs does not have.",
            f"Name some of: {', '.join(domains)}.",
        )
    tables = [file for file in files if file.name.lower().endswith(".parquet") or file.is_dir()]
    if tables and not find_spec("pyarrow"):
        raise InputError(
            f"pyarrow is not installed, and {tables[0]} needs it.",
            "Run `pip install pyarrow`, or convert the pairs to .jsonl.",
        )
    if recipe.run.surrogate is not None:
        family_of(checkpoint_folder(recipe.run.surrogate))
