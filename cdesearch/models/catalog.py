"""Which models are here, and which can be had?"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cdesearch.errors import ModelError
from cdesearch.models.contextual.family import DEFAULT_MODEL
from cdesearch.models.hub import KNOWN, cached_folder, cached_names
from cdesearch.models.published_fields import read_fields
from cdesearch.models.registry import family_of


@dataclass(frozen=True, slots=True)
class Shelved:
    """One line of the list."""

    where: str
    name: str
    what: str
    size: str


def read_shelf() -> Iterator[Shelved]:
    """What ships, what the cache of huggingface_hub holds whole, what else is known. No network."""
    yield Shelved("ships", "(default)", "all-MiniLM-L6-v2 with corpus statistics", _size(DEFAULT_MODEL))
    cached = {name: folder for name in cached_names() if (folder := cached_folder(name)) is not None}
    for name, folder in cached.items():
        if what := _what(folder):
            yield Shelved("cached", name, what, _size(folder))
    for known in KNOWN:
        if known.name not in cached:
            yield Shelved("to fetch", known.name, known.what, known.size)


def _what(folder: Path) -> str | None:
    """None where this project cannot run it."""
    try:
        return family_of(folder).describe(read_fields(folder / "config.json"))
    except ModelError:
        return None


def _size(folder: Path) -> str:
    megabytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    return f"{megabytes / 1e3:.1f} GB" if megabytes >= 1e3 else f"{megabytes:.0f} MB"
