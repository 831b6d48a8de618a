"""Checkpoints by their ids on huggingface.co: read from the cache of huggingface_hub, or downloaded into it.

Only this module downloads anything, and only if the user names a model in the command or program itself that is neither
a folder nor in the cache. A model that an index names is never downloaded.
"""

import re
from contextlib import suppress
from pathlib import Path

from cdesearch.errors import ModelError, extra_with_torch
from cdesearch.models.checkpoint_files import read_fields
from cdesearch.models.family import TOKENIZER

V2_TOKENIZER = "answerdotai/ModernBERT-base"  # cde-small-v2 is published without one
FILES = [
    "config.json",
    "model.safetensors",
    TOKENIZER,
    "tokenizer_config.json",
    "README.md",
    "modules.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "*/config.json",
    "*_Dense/model.safetensors",
    *(f"onnx/{graph}.onnx" for graph in ("first_stage", "second_stage", "cache")),
]
_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def is_id(model: Path) -> bool:
    """Whether this is the id of a model on the hub: two names joined by a slash, and not an existing path."""
    return not model.exists() and _ID.fullmatch(model.as_posix()) is not None


def checkpoint_folder(model: Path, *, fetch: bool = True) -> Path:
    """The folder of a checkpoint: `model` itself, or for an id its folder in the cache, downloaded if it is missing.

    A cached model is used without asking the network for a newer version. Without `fetch` the network is never used.
    Raises ModelError.
    """
    if not is_id(model):
        return model
    name = model.as_posix()
    if not fetch:
        return _from_cache(name)
    folder = cached_folder(name) or _fetch(name)
    wants_v2 = "modernbert" in str(read_fields(folder / "config.json").get("embedder")).lower()
    if wants_v2 and not (folder / TOKENIZER).is_file() and cached_file(V2_TOKENIZER, TOKENIZER) is None:
        from huggingface_hub import hf_hub_download

        with suppress(Exception):  # opening the folder reports what is missing
            hf_hub_download(V2_TOKENIZER, TOKENIZER)
    return folder


def stored_model(name: str | None) -> Path | None:
    """The folder of a model as a manifest names it: an absolute path or an id in the cache; None is the one that ships.

    An id is never treated as a folder of the working directory. The network is not used. Raises ModelError.
    """
    if name is None or Path(name).is_absolute():
        return None if name is None else Path(name)
    if not _ID.fullmatch(name):
        raise ModelError(
            f"The index names the model {name}, which is neither an absolute path nor an id.", "Name it with --model."
        )
    return _from_cache(name)


def _from_cache(name: str) -> Path:
    folder = cached_folder(name)
    if folder is None:
        raise ModelError(
            f"The model {name} is not in the cache of this computer, and a query never downloads a model.",
            f"Run `cdesearch models fetch {name}`.",
        )
    return folder


def cached_folder(name: str) -> Path | None:
    """The folder of a complete model in the cache; None if there is none, or if huggingface_hub is not installed."""
    try:
        from huggingface_hub import snapshot_download

        folder = Path(snapshot_download(name, allow_patterns=FILES, local_files_only=True))
    except (ImportError, OSError, ValueError):  # ValueError: no model can have this name
        return None
    return folder if _is_complete(folder) else None


def cached_file(name: str, file: str) -> Path | None:
    """The path of one file of a model in the cache; None if it is not there."""
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    found = try_to_load_from_cache(name, file)
    return Path(found) if isinstance(found, str) else None


def cached_names() -> list[str]:
    """Ids of all models in the cache of huggingface_hub."""
    try:
        from huggingface_hub import CacheNotFound, constants, scan_cache_dir
    except ImportError:
        return []
    try:
        repos = scan_cache_dir(constants.HF_HUB_CACHE).repos
    except CacheNotFound:
        return []
    return sorted(repo.repo_id for repo in repos if repo.repo_type == "model")


def _is_complete(folder: Path) -> bool:
    has_config = any((folder / file).is_file() for file in ("config.json", "modules.json"))
    return has_config and (folder / "model.safetensors").is_file()


def _fetch(name: str) -> Path:
    """Download a model and return its folder; raises a ModelError that says how to copy it from another computer.

    huggingface_hub shows its progress, and continues an interrupted download.
    """
    try:
        from huggingface_hub import snapshot_download

        folder = Path(snapshot_download(name, allow_patterns=FILES))
        if _is_complete(folder):
            return folder
        raise FileNotFoundError("config.json or model.safetensors is missing")  # such as a model in another format
    except ImportError:
        raise ModelError(
            f"There is no folder {name} here, and downloading a model of that name needs huggingface_hub.",
            f"{extra_with_torch('hub')} {_copy_remedy(name)}",
        ) from None
    except Exception as error:  # huggingface_hub's errors, its HTTP library's and the system's share no public root
        if type(error).__name__ == "RepositoryNotFoundError":
            raise ModelError(
                f"There is no folder {name} here, and no public model of that name on huggingface.co.",
                "Check the spelling; `cdesearch models` lists known models.",
            ) from None
        is_offline = type(error.__cause__).__name__ == "OfflineModeIsEnabled"
        reason = "HF_HUB_OFFLINE is set" if is_offline else str(error.__cause__ or error).partition("\n")[0]
        raise ModelError(
            f"There is no folder {name} here, the cache has no complete model of that name,"
            f" and the download failed: {reason}.",
            _copy_remedy(name),
        ) from None


def _copy_remedy(name: str) -> str:
    folder = name.rpartition("/")[2]
    commands = [f"`hf download {name} --local-dir {folder}`"]
    if name == "jxm/cde-small-v2":
        commands.append(f"`hf download {V2_TOKENIZER} {TOKENIZER} --local-dir {folder}`")
    run = f"On a computer with network, run {' and '.join(commands)}."
    return f"{run} Copy the folder here and give its path as the model."
