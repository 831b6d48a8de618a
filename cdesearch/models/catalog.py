"""List the models that are installed or can be downloaded, and the languages that they read."""

import tomllib
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import DEFAULT_MODEL
from cdesearch.models.endpoint_model import EndpointModel, Model
from cdesearch.models.hub import cached_folder, cached_names, checkpoint_folder
from cdesearch.models.model_card import read_card
from cdesearch.models.published_fields import read_fields
from cdesearch.models.registry import family_of
from cdesearch.words.known import LANGUAGES


class KnownModel(msgspec.Struct, frozen=True):
    """A model as `known_models.toml` describes it."""

    name: str
    description: str
    size: str
    dimension: int
    licence: str
    shown_languages: str
    languages: tuple[str, ...]
    measured: str = ""


_STORED = tomllib.loads(Path(__file__).with_name("known_models.toml").read_text(encoding="utf-8"))
DEFAULT, *KNOWN_MODELS = msgspec.convert(
    [
        row | {"languages": tuple(LANGUAGES) if row["languages"] == "all" else row["languages"]}
        for row in _STORED["models"]
    ],
    list[KnownModel],
)
_BY_NAME = {known.name: known for known in KNOWN_MODELS}


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model in the list that `cdesearch models` prints. Texts are empty for what is not known."""

    state: str  # ships, folder, cached or to fetch
    name: str
    description: str
    size: str
    dimension: str = ""
    licence: str = ""  # as the model's card states it
    languages: str = ""
    measured: str = ""  # with which result this project has measured it


def list_models(folders: Iterable[Path] = ()) -> Iterator[ListedModel]:
    """The model that ships, those in `folders`, the complete ones in the cache, then other known models.

    Folders that hold no model are left out. The network is not used.
    """
    yield _installed("ships", DEFAULT.name, DEFAULT_MODEL, DEFAULT.description, str(DEFAULT.dimension))
    for folder in folders:
        with suppress(ModelError, OSError):
            yield _installed("folder", str(folder), folder, *_described(folder))
    cached = {name: found for name in cached_names() if (found := cached_folder(name)) is not None}
    for name, folder in cached.items():
        with suppress(ModelError, OSError):
            yield _installed("cached", name, folder, *_described(folder))
    for known in KNOWN_MODELS:
        if known.name not in cached:
            yield ListedModel(
                "to fetch",
                known.name,
                known.description,
                known.size,
                str(known.dimension),
                known.licence,
                known.shown_languages,
                measured=known.measured,
            )


def languages_of(model: Model | None) -> tuple[str, ...]:
    """The codes of the languages that a model reads, None being the one that ships; empty if they are unknown.

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
    """The names of the known models that read all of these languages, those in the cache first.

    Other models in the cache are left out, because a card does not say whether a model is made for search.
    """
    wanted, cached = frozenset(languages), frozenset(cached_names())
    names = [known.name for known in KNOWN_MODELS if wanted <= frozenset(known.languages)]
    return sorted(names, key=lambda name: name not in cached)


def _installed(state: str, name: str, folder: Path, description: str, dimension: str) -> ListedModel:
    card = read_card(folder)
    known = _BY_NAME.get(name, DEFAULT if state == "ships" else None)
    return ListedModel(
        state,
        name,
        description,
        _size(folder),
        dimension,
        card.licence or ("" if known is None else known.licence),
        card.shown_languages or ("" if known is None else known.shown_languages),
        "" if known is None else known.measured,
    )


def _described(folder: Path) -> tuple[str, str]:
    """A few words about a checkpoint, and its dimension; raises ModelError if this project cannot run it."""
    family = family_of(folder)
    dimension = str(family.dimension(folder))
    description = family.describe(read_fields(folder / "config.json"))
    if description is None:
        raise ModelError(f"The model in {folder} is of a kind that cdesearch cannot run.", "Name another folder.")
    return description, dimension


def _size(folder: Path) -> str:
    megabytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    return f"{megabytes / 1e3:.1f} GB" if megabytes >= 1e3 else f"{megabytes:.0f} MB"
