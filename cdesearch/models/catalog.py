"""List the models that are installed or can be downloaded, and the languages that they read."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from cdesearch.errors import ModelError
from cdesearch.languages.known import ENGLISH
from cdesearch.models.checkpoint_files import DEFAULT_MODEL
from cdesearch.models.endpoint_model import EndpointModel, Model
from cdesearch.models.export_folder import export_folder, read_speed
from cdesearch.models.hub import KNOWN_MODELS, KnownModel, cached_folder, cached_names, checkpoint_folder
from cdesearch.models.model_card import read_card
from cdesearch.models.published_fields import read_fields
from cdesearch.models.registry import family_of

DEFAULT = KnownModel(
    "(default)", "all-MiniLM-L6-v2, trained with statistics of a corpus", "", 384, (ENGLISH,), "eight sets: README.md"
)
_BY_NAME = {known.name: known for known in KNOWN_MODELS}


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model in the list that `cdesearch models` prints. Texts are empty for what is not known."""

    state: str  # ships, cached or to fetch
    name: str
    description: str
    size: str
    dimension: str = ""
    licence: str = ""  # as the model's card states it
    languages: str = ""
    speed: str = ""  # of encoding on this machine
    measured: str = ""  # with which result this project has measured it


def list_models() -> Iterator[ListedModel]:
    """The model that ships, the complete models in the cache of huggingface_hub, then other known models.

    The network is not used.
    """
    yield _installed("ships", DEFAULT.name, DEFAULT_MODEL, DEFAULT.description, str(DEFAULT.dimension))
    cached = {name: folder for name in cached_names() if (folder := cached_folder(name)) is not None}
    for name, folder in cached.items():
        if described := _describe(folder):
            yield _installed("cached", name, folder, *described)
    for known in KNOWN_MODELS:
        if known.name not in cached:
            yield ListedModel(
                "to fetch", known.name, known.description, known.size, str(known.dimension), measured=known.measured
            )


def languages_of(model: Model | None) -> tuple[str, ...]:
    """Return the codes of the languages that a model reads, None being the one that ships; empty if they are unknown.

    Those of a model on a server are unknown, because it has no card here. The network is not used.
    """
    if isinstance(model, EndpointModel):
        return ()
    if model is None:
        return DEFAULT.languages
    if known := _BY_NAME.get(model.as_posix()):
        return known.languages
    try:
        return read_card(checkpoint_folder(model, fetch=False)).language_codes
    except ModelError:
        return ()


def models_reading(languages: Collection[str]) -> list[str]:
    """Return the names of the known models that read all of these languages, those in the cache first.

    Other models in the cache are left out, because a card does not say whether a model is made for search.
    """
    wanted, cached = frozenset(languages), frozenset(cached_names())
    names = [known.name for known in KNOWN_MODELS if wanted <= frozenset(known.languages)]
    return sorted(names, key=lambda name: name not in cached)


def _installed(state: str, name: str, folder: Path, description: str, dimension: str) -> ListedModel:
    card = read_card(folder)
    known = _BY_NAME.get(name, DEFAULT if state == "ships" else None)
    speed = read_speed(_export_of(folder))
    return ListedModel(
        state,
        name,
        description,
        _size(folder),
        dimension,
        card.licence,
        card.shown_languages,
        "" if speed is None else f"{speed:.0f} texts/s",
        "" if known is None else known.measured,
    )


def _describe(folder: Path) -> tuple[str, str] | None:
    """A few words about a checkpoint, and its dimension; None if this project cannot run it."""
    try:
        fields = read_fields(folder / "config.json")
        family = family_of(folder)
        description = family.describe(fields)
        if description is None:
            return None
        return description, str(family.dimension(folder))
    except ModelError:
        return None


def _export_of(folder: Path) -> Path | None:
    """The folder of the export of a published model; None for other models."""
    family = family_of(folder)
    return export_folder(family.open(folder).fingerprint) if family.is_exported else None


def _size(folder: Path) -> str:
    megabytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    return f"{megabytes / 1e3:.1f} GB" if megabytes >= 1e3 else f"{megabytes:.0f} MB"
