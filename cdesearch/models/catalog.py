"""List the models that are installed or can be downloaded, and the languages that they read."""

import tomllib
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import DEFAULT_MODEL
from cdesearch.models.endpoint_model import EndpointModel, Model
from cdesearch.models.hub import cached_folder, cached_names, checkpoint_folder
from cdesearch.models.model_card import read_card
from cdesearch.models.registry import family_of
from cdesearch.words.known import LANGUAGES


class ListedModel(msgspec.Struct, frozen=True):
    """A model in the list that `cdesearch models` prints. Texts are empty for what is not known."""

    name: str
    description: str = ""
    size: str = ""
    dimension: int = 0
    licence: str = ""  # as the model's card states it
    languages: str = ""  # as people are shown them
    codes: tuple[str, ...] = ()  # of the languages that a known model reads
    measured: str = ""  # with which result this project has measured it
    state: str = "to fetch"  # or ships, folder or cached


_STORED = tomllib.loads(Path(__file__).with_name("known_models.toml").read_text(encoding="utf-8"))
DEFAULT, *KNOWN_MODELS = msgspec.convert(
    [row | {"codes": tuple(LANGUAGES) if row["codes"] == "all" else row["codes"]} for row in _STORED["models"]],
    list[ListedModel],
)
_BY_NAME = {known.name: known for known in KNOWN_MODELS}


def list_models(folders: Iterable[Path] = ()) -> Iterator[ListedModel]:
    """The model that ships, those in `folders`, the complete ones in the cache, then other known models.

    Folders that hold no model are left out. The network is not used.
    """
    yield _installed(DEFAULT, DEFAULT_MODEL, "ships")
    for folder in folders:
        with suppress(ModelError, OSError):
            yield _installed(_described(str(folder), folder), folder, "folder")
    cached = {name: found for name in cached_names() if (found := cached_folder(name)) is not None}
    for name, folder in cached.items():
        with suppress(ModelError, OSError):
            yield _installed(_described(name, folder), folder, "cached")
    yield from (known for known in KNOWN_MODELS if known.name not in cached)


def languages_of(model: Model | None) -> tuple[str, ...]:
    """The codes of the languages that a model reads, None being the one that ships; empty if they are unknown.

    Those of a model on a server are unknown, because it has no card here. The network is not used.
    """
    if isinstance(model, EndpointModel):
        return ()
    if model is None:
        return DEFAULT.codes
    if known := _BY_NAME.get(model.as_posix()):
        return known.codes
    try:
        return read_card(checkpoint_folder(model, fetch=False)).language_codes
    except ModelError:
        return ()


def models_reading(languages: Collection[str]) -> list[str]:
    """The names of the known models that read all of these languages, those in the cache first.

    Other models in the cache are left out, because a card does not say whether a model is made for search.
    """
    wanted, cached = frozenset(languages), frozenset(cached_names())
    names = [known.name for known in KNOWN_MODELS if wanted <= frozenset(known.codes)]
    return sorted(names, key=lambda name: name not in cached)


def _installed(model: ListedModel, folder: Path, state: str) -> ListedModel:
    card = read_card(folder)
    licence, languages = card.licence or model.licence, card.shown_languages or model.languages
    return replace(model, state=state, size=_size(folder), licence=licence, languages=languages)


def _described(name: str, folder: Path) -> ListedModel:
    """What the files of a checkpoint say about it; raises ModelError if this project cannot run it."""
    family = family_of(folder)
    known = _BY_NAME.get(name, ListedModel(name, family.title))
    return replace(known, dimension=family.dimension(folder))


def _size(folder: Path) -> str:
    megabytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    return f"{megabytes / 1e3:.1f} GB" if megabytes >= 1e3 else f"{megabytes:.0f} MB"
