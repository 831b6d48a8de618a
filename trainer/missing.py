"""What a recipe names and this machine does not have: libraries, with their replacements, domains and folders."""

from importlib.util import find_spec

import torch

from cdesearch.errors import InputError
from cdesearch.models.hub import checkpoint_folder
from cdesearch.models.registry import family_of
from trainer.data.pairs.beir import FILES
from trainer.data.pairs.reading import domain_files, domain_name
from trainer.recipe import Recipe
from trainer.run.tracker import INSTALL, NOT_INSTALLED


def missing_libraries(recipe: Recipe, device: torch.device) -> list[str]:
    """One line for each missing library that the recipe would use, with its replacement.

    Raises InputError if there is no replacement.
    """
    _check_needed(recipe)
    clustered = recipe.batches.clustered and not recipe.batches.by_document
    lines = []
    if clustered and not _has("faiss"):
        lines.append("faiss-cpu or faiss-gpu-cu12 is not installed: clustering by torch.")
    if recipe.run.surrogate is not None and device.type == "cpu" and not _has("onnxruntime"):
        lines.append("onnxruntime is not installed: the surrogate runs on torch.")
    if device.type == "cuda" and recipe.learning.precision == "bf16" and not _has("flash_attn"):
        lines.append("flash-attn is not installed: attention by torch.")
    if recipe.model.context_attention != "joint" and not _has("onnx"):
        lines.append(
            "onnx is not installed: the checkpoint gets no ONNX graphs."
            " `python -m trainer.merge OUT CHECKPOINT=1` adds them on a machine with onnx."
        )
    return lines


def check_named(recipe: Recipe) -> None:
    """Check the domains, folders and models that are only used after the preparation, which can take hours.

    Raises InputError for a domain that no pair file has and for an evaluation set that lacks a file, and ModelError for
    a surrogate that is not a model.
    """
    domains = list(map(domain_name, domain_files(recipe.data.pairs, recipe.data.leave_out)))
    if unknown := sorted(set(recipe.data.held_out_domains) - set(domains)):
        raise InputError(
            f"data.held_out_domains names {', '.join(unknown)}, which data.pairs does not have.",
            f"Name some of: {', '.join(domains)}.",
        )
    if unknown := sorted(recipe.data.weights.keys() - set(domains)):
        raise InputError(
            f"data.weights names {unknown[0]}, which data.pairs does not have.", f"Name some of: {', '.join(domains)}."
        )
    for file in (folder / name for folder in recipe.run.evaluate for name in FILES):
        if not file.exists():
            raise InputError(
                f"run.evaluate needs {file}, which does not exist.", f"Name folders that have {', '.join(FILES)}."
            )
    if recipe.run.surrogate is not None:
        family_of(checkpoint_folder(recipe.run.surrogate))


def _check_needed(recipe: Recipe) -> None:
    files = domain_files(recipe.data.pairs, recipe.data.leave_out)
    tables = [file for file in files if file.name.lower().endswith(".parquet") or file.is_dir()]
    if tables and not _has("pyarrow"):
        raise InputError(
            f"pyarrow is not installed, and {tables[0]} needs it.",
            "Run `pip install pyarrow`, or convert the pairs to .jsonl.",
        )
    if recipe.run.trackio is not None and not _has("trackio"):
        raise InputError(NOT_INSTALLED, INSTALL)
    if recipe.batches.sparse and not _has("sklearn"):
        raise InputError(
            "scikit-learn is not installed, and batches.sparse needs it.", "Run `pip install scikit-learn`."
        )


def _has(library: str) -> bool:
    return find_spec(library) is not None
