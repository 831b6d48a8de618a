"""List the models that are installed or can be downloaded."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import DEFAULT_MODEL
from cdesearch.models.hub import KNOWN_MODELS, cached_folder, cached_names, checkpoint_folder
from cdesearch.models.model_card import card_languages
from cdesearch.models.published_fields import read_fields
from cdesearch.models.registry import family_of


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model in the list that `cdesearch models` prints."""

    state: str  # ships, cached or to fetch
    name: str
    description: str
    size: str


def list_models() -> Iterator[ListedModel]:
    """The model that ships, the complete models in the cache of huggingface_hub, then other known models.

    The network is not used.
    """
    yield ListedModel("ships", "(default)", "all-MiniLM-L6-v2 with corpus statistics", _size(DEFAULT_MODEL))
    cached = {name: folder for name in cached_names() if (folder := cached_folder(name)) is not None}
    for name, folder in cached.items():
        if description := _describe(folder):
            yield ListedModel("cached", name, description, _size(folder))
    for known in KNOWN_MODELS:
        if known.name not in cached:
            yield ListedModel("to fetch", known.name, known.description, known.size)


def languages_of(model: Path | None) -> tuple[str, ...]:
    """Return the codes of the languages that a model reads, None being the one that ships; empty if they are unknown.

    The network is not used.
    """
    known = next((one for one in KNOWN_MODELS if model is not None and one.name == model.as_posix()), None)
    if known is not None:
        return known.languages
    try:
        return card_languages(DEFAULT_MODEL if model is None else checkpoint_folder(model, fetch=False))
    except ModelError:
        return ()


def models_reading(languages: Collection[str]) -> list[str]:
    """Return the names of the models in the cache and of other known models that read all of these languages."""
    wanted = frozenset(languages)
    names = dict.fromkeys([*cached_names(), *(known.name for known in KNOWN_MODELS)])
    return [name for name in names if wanted and wanted <= frozenset(languages_of(Path(name)))]


def _describe(folder: Path) -> str | None:
    """A few words about a checkpoint; None if this project cannot run it."""
    try:
        return family_of(folder).describe(read_fields(folder / "config.json"))
    except ModelError:
        return None


def _size(folder: Path) -> str:
    megabytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    return f"{megabytes / 1e3:.1f} GB" if megabytes >= 1e3 else f"{megabytes:.0f} MB"
