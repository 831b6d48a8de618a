"""A data set of the benchmarks: a BEIR folder with all of its queries or every other one."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cdesearch.errors import SourceError
from indexer.formats.records import PART
from trainer.data.pairs.beir import Judgements, read_beir

Half = Literal["all", "choose", "report"]
HALVES: tuple[Half, ...] = ("choose", "report")


@dataclass(frozen=True, slots=True)
class Dataset:
    """Texts, queries, and which texts are relevant to which query. Queries without a relevant document are left out."""

    name: str
    folder: Path
    ids: tuple[str, ...]
    texts: tuple[str, ...]  # title, then text
    queries: Mapping[str, str]
    judgements: Judgements
    notes: tuple[str, ...]  # what a reader of the results must know

    @property
    def documents(self) -> list[list[int]]:
        """Rows of the chunks of every document, in order; a text without PART in its id is a document of its own."""
        found: dict[str, list[int]] = {}
        for row, name in enumerate(self.ids):
            found.setdefault(name.partition(PART)[0] if PART in name else name, []).append(row)
        return list(found.values())


def read_dataset(folder: Path, half: Half = "all") -> Dataset:
    """Read and check a BEIR folder; raises SourceError.

    Every other query belongs to the half for choosing settings. Results are reported on the other half.
    """
    found = read_beir(folder)
    notes = [f"{found.n_stray} judgements name unknown ids and are left out"] if found.n_stray else []
    judged = found.judgements
    if half != "all":
        judged = dict(list(judged.items())[HALVES.index(half) :: 2])
        notes.append(f"every other query, those to {half}")
    queries = {name: found.queries[name] for name in judged}
    return Dataset(folder.name, folder, found.ids, found.texts, queries, judged, tuple(notes))


def beir_folder(name: str) -> Path:
    """The BEIR folder `name`: a path, or a path under CDESEARCH_DATA; raises SourceError."""
    for candidate in (Path(name), Path(os.environ.get("CDESEARCH_DATA", "."), name)):
        if candidate.is_dir():
            return candidate
    raise SourceError(f"There is no folder {name}.", "Name a BEIR folder, or set CDESEARCH_DATA.")
