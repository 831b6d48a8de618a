"""All systems by name. A system is added to SYSTEMS."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.biencoder import Biencoder, installed_minilm
from benchmarks.systems.contextual import Contextual
from benchmarks.systems.product import Mode, Product
from benchmarks.systems.system import BenchmarkSystem
from benchmarks.systems.text import Bm25, Fused
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError


@dataclass(frozen=True, slots=True)
class Setting:
    """What a system is made from."""

    model: Path | None  # cdesearch checkpoint; None for the model that ships
    biencoder: Path | None  # sentence-transformers folder; None for all-MiniLM-L6-v2
    work: Path  # for vectors and indexes, which later runs use again
    other: Dataset  # from which `random` takes its context
    seed: int = 0  # of the context sample


def _biencoder(setting: Setting) -> Biencoder:
    folder = setting.biencoder or installed_minilm()
    return Biencoder(folder, setting.work / "vectors", None if setting.biencoder else "all-MiniLM-L6-v2")


def _contextual(kind: str, setting: Setting) -> Contextual:
    return Contextual(load_encoder(setting.model), setting.work / "vectors", kind, setting.other, setting.seed)


def _product(mode: Mode, setting: Setting, *, plain: bool = False) -> Product:
    return Product(setting.work, mode, setting.model, plain=plain)


SYSTEMS: Mapping[str, Callable[[Setting], BenchmarkSystem]] = {
    "bm25": lambda _: Bm25(),
    "minilm": _biencoder,
    "minilm+bm25": lambda setting: Fused(_biencoder(setting)),
    **{kind: partial(_contextual, kind) for kind in ("true", "random", "null", "document")},
    "text": partial(_product, "text"),
    "dense": partial(_product, "dense"),
    "hybrid": partial(_product, "hybrid"),
    "plain-dense": partial(_product, "dense", plain=True),
    "plain-hybrid": partial(_product, "hybrid", plain=True),
}


def check_systems(names: Sequence[str], n_datasets: int) -> None:
    """Raise InputError if a system is unknown, or if `random` has no other data set to take its context from."""
    if unknown := [name for name in names if name not in SYSTEMS]:
        raise InputError(f"There is no system {', '.join(unknown)}.", f"Name some of {', '.join(SYSTEMS)}.")
    if "random" in names and n_datasets < 2:
        raise InputError(
            "The context of `random` is that of another data set.", "Name two data sets, or leave `random` out."
        )
