"""What a run was started from: its pairs, its start and its surrogate, by contents.

Paths and times are not among it, because they differ when a run goes on on another machine.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from cdesearch.errors import InputError, ModelError, StorageError
from trainer.data.material import Material
from trainer.data.pairs.reading import domain_files, domain_name, parts_of
from trainer.recipe import Recipe
from trainer.run.parts import is_split

START_FILES = ("config.json", "tokenizer.json", "sentence_bert_config.json", "model.safetensors")


@dataclass(frozen=True, slots=True)
class Source:
    """A file or folder that a run reads, and a digest of what it reads there."""

    path: Path
    digest: str


def sources_of(recipe: Recipe, material: Material) -> dict[str, Source]:
    """The start, the surrogate and the pairs of every domain by name; raises ModelError, SourceError."""
    files = {domain_name(file): file for file in domain_files(recipe.data.pairs, recipe.data.leave_out)}
    sources = {"start": Source(recipe.model.start, digest_of_start(recipe.model.start))}
    if recipe.run.surrogate is not None:
        sources["surrogate"] = Source(recipe.run.surrogate, material.surrogate_fingerprint)
    for name, digest in material.pair_digests.items():
        sources[f"pairs of {name}"] = Source(files[name], digest)
    return sources


def check_joined(recipe: Recipe) -> None:
    """Raise InputError if a file of the pairs, the start or the surrogate is a list of parts that nobody has joined."""
    files = [part for file in domain_files(recipe.data.pairs, recipe.data.leave_out) for part in parts_of(file)]
    for model in filter(None, (recipe.model.start, recipe.run.surrogate)):
        files += [file for file in model.rglob("*") if file.is_file()]
    for file in files:
        if is_split(file):
            raise InputError(
                f"{file} is in parts that are not joined.",
                f"Run `python -m trainer.parcel join {quote(str(file.parent))}`.",
            )


def check_sources(folder: Path, stored: Mapping[str, str], sources: Mapping[str, Source]) -> None:
    """Raise InputError, with the name of a file, unless `sources` have the digests with which `folder` was started.

    Raises StorageError if `stored` lacks the start, which every run has.
    """
    for name, source in sources.items():
        if name not in stored and name == "start":
            raise StorageError(
                f"The state in {folder} is damaged: it does not record the start.",
                "Copy it again, or set another run.out.",
            )
        if name not in stored:
            raise InputError(
                f"{folder} was started without the {name}, {source.path}.",
                "Leave it out again, or set another run.out.",
            )
        if stored[name] != source.digest:
            raise InputError(
                f"{source.path} has other contents than when {folder} was started.",
                "Restore the earlier contents, or set another run.out.",
            )
    if missing := sorted(stored.keys() - sources.keys()):
        raise InputError(
            f"{folder} was started with the {missing[0]}, and the recipe no longer has it.",
            "Name it again, or set another run.out.",
        )


def digest_of_start(folder: Path) -> str:
    """A digest of the files of a start, whatever its path; raises ModelError."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        for file in (folder / name for name in START_FILES):
            if file.is_file():
                with file.open("rb") as stream:
                    digest.update(file.name.encode() + hashlib.file_digest(stream, "blake2b").digest())
    except OSError as error:
        raise ModelError(f"{folder} cannot be read ({error.strerror}).", "Copy it again.") from None
    return digest.hexdigest()
