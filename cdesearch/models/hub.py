"""Checkpoints by their ids on huggingface.co: taken from the cache there is for them, or fetched into it.

The only module that speaks to a network, and only where the user names a model, in this very command or program, that
is neither a folder nor in the cache. What an index names is never fetched.
"""

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cdesearch.errors import ModelError
from cdesearch.models.family import TOKENIZER
from cdesearch.models.published_fields import read_fields

V2_TOKENIZER = "answerdotai/ModernBERT-base"  # cde-small-v2 is published without one
FILES = [
    "config.json",
    "model.safetensors",
    TOKENIZER,
    "tokenizer_config.json",
    "modules.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "*/config.json",
    *(f"onnx/{graph}.onnx" for graph in ("first_stage", "second_stage", "cache")),
]
_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Known:
    """A checkpoint that can be had."""

    name: str
    what: str
    size: str


KNOWN = (
    Known("jxm/cde-small-v1", "CDE on NomicBERT, 281M parameters", "1.1 GB"),
    Known("jxm/cde-small-v2", "CDE on ModernBERT, 306M parameters", "1.2 GB"),
)


def is_id(model: Path) -> bool:
    """Whether this names a model of the hub: no folder here, and two names with one slash."""
    return not model.exists() and _ID.fullmatch(model.as_posix()) is not None


def checkpoint_folder(model: Path, *, fetch: bool = True) -> Path:
    """A folder as it is; of an id the folder in the cache, fetched where it is not there. Raises ModelError.

    What is cached is used as it is, without asking the network for something newer. Without `fetch` nothing is asked.
    """
    if not is_id(model):
        return model
    name = model.as_posix()
    if not fetch:
        return _from_cache(name)
    folder = cached_folder(name) or _fetched(name)
    if _wants_v2_tokenizer(folder) and cached_file(V2_TOKENIZER, TOKENIZER) is None:
        from huggingface_hub import hf_hub_download

        with suppress(Exception):  # whoever opens the folder says what it lacks
            hf_hub_download(V2_TOKENIZER, TOKENIZER)
    return folder


def stored_model(name: str | None) -> Path | None:
    """The folder of a model as a manifest names it (None: the one that ships): absolute, or an id that is in the cache.

    An id stays an id, whatever folders lie in the working directory. Raises ModelError; never asks the network.
    """
    if name is None or Path(name).is_absolute():
        return None if name is None else Path(name)
    if not _ID.fullmatch(name):
        raise ModelError(f"The index names a model that cannot be here: {name}.", "Name it with --model.")
    return _from_cache(name)


def _from_cache(name: str) -> Path:
    folder = cached_folder(name)
    if folder is None:
        raise ModelError(
            f"The model {name} is not in the cache of this computer, and only `cdesearch index` fetches models.",
            f"Run `cdesearch index PATH --model {name}`.",
        )
    return folder


def cached_folder(name: str) -> Path | None:
    """The whole snapshot of a model in the cache; None where there is none, or no huggingface_hub."""
    try:
        from huggingface_hub import snapshot_download

        folder = Path(snapshot_download(name, allow_patterns=FILES, local_files_only=True))
    except (ImportError, OSError, ValueError):  # a name that no model can have is a ValueError
        return None
    return folder if _is_whole(folder) else None


def cached_file(name: str, file: str) -> Path | None:
    """One file of a model in the cache; None where it is not."""
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    found = try_to_load_from_cache(name, file)
    return Path(found) if isinstance(found, str) else None


def cached_names() -> list[str]:
    """Ids of all models in the cache of huggingface_hub."""
    try:
        from huggingface_hub import CacheNotFound, scan_cache_dir
    except ImportError:
        return []
    try:
        return sorted(repo.repo_id for repo in scan_cache_dir().repos if repo.repo_type == "model")
    except CacheNotFound:
        return []


def _is_whole(folder: Path) -> bool:
    has_config = any((folder / file).is_file() for file in ("config.json", "modules.json"))
    return has_config and (folder / "model.safetensors").is_file()


def _wants_v2_tokenizer(folder: Path) -> bool:
    embedder = str(read_fields(folder / "config.json").get("embedder") or "")
    return "modernbert" in embedder.lower() and not (folder / TOKENIZER).is_file()


def _download(name: str) -> Path:
    """With huggingface_hub's own bars; what was fetched in part before is not fetched again."""
    from huggingface_hub import snapshot_download

    folder = Path(snapshot_download(name, allow_patterns=FILES))
    if not _is_whole(folder):  # without network, what an earlier try has left; with it, a model in another format
        raise FileNotFoundError("config.json or model.safetensors is missing")
    _check_bytes(folder / "model.safetensors")
    return folder


def _check_bytes(file: Path) -> None:
    """Raise ModelError, and remove the file, where its bytes are not those of the hash that the cache names it by."""
    blob = file.resolve()
    if not _SHA256.fullmatch(blob.name):
        return
    with blob.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != blob.name:
        blob.unlink()
        file.unlink(missing_ok=True)
        raise ModelError(f"{file} did not arrive whole and was removed.", "Run the same command again.")


def _fetched(name: str) -> Path:
    """The folder of a model, downloaded; raises ModelError with the way there is without network."""
    try:
        return _download(name)
    except ImportError:
        raise ModelError(
            f"There is no folder {name} here, and fetching a model of that name needs huggingface_hub.",
            f"Run `pip install 'cdesearch[hub]'`. {_elsewhere(name)}",
        ) from None
    except ModelError:
        raise
    except Exception as error:  # huggingface_hub's errors, its HTTP library's and the system's share no public root
        if type(error).__name__ == "RepositoryNotFoundError":
            raise ModelError(
                f"There is no folder {name} here, and on huggingface.co no public model of that name.",
                "Check the spelling; `cdesearch models` lists what is known.",
            ) from None
        is_offline = type(error.__cause__).__name__ == "OfflineModeIsEnabled"
        reason = "HF_HUB_OFFLINE is set" if is_offline else str(error.__cause__ or error).partition("\n")[0]
        raise ModelError(
            f"There is no folder {name} here, the cache does not hold a whole model of that name,"
            f" and huggingface.co gave none ({reason}).",
            _elsewhere(name),
        ) from None


def _elsewhere(name: str) -> str:
    folder = name.rpartition("/")[2]
    commands = [f"`hf download {name} --local-dir {folder}`"]
    if name == "jxm/cde-small-v2":
        commands.append(f"`hf download {V2_TOKENIZER} {TOKENIZER} --local-dir {folder}`")
    return f"Where there is network, run {' and '.join(commands)}, copy the folder here and name it with --model."
