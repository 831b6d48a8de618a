"""A data set of the benchmarks: a BEIR folder with all of its queries or every other one."""

import hashlib
import os
import urllib.request
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cdesearch.errors import SourceError
from indexer.formats.records import PART
from trainer.data.pairs.beir import Judgements, read_beir

Half = Literal["all", "choose", "report"]
HALVES: tuple[Half, ...] = ("choose", "report")
# Documents, queries with a relevant document and lines of judgements of the test splits (Thakur et al., NeurIPS 2021,
# and the BEIR repository).
COUNTS = {
    "arguana": (8674, 1406, 1406),
    "fiqa": (57638, 648, 1706),
    "nfcorpus": (3633, 323, 12334),
    "scidocs": (25657, 1000, 29928),
    "scifact": (5183, 300, 339),
    "trec-covid": (171332, 50, 66336),
}
URL = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/{name}.zip"
MD5 = {
    "arguana": "8ad3e3c2a5867cdced806d6503f29b99",
    "fiqa": "17918ed23cd04fb15047f73e6c3bd9d9",
    "nfcorpus": "a89dba18a62ef92f7d323ec890a0d38d",
    "scidocs": "38121350fc3a4d2f48850f6aff52e4a9",
    "scifact": "5f7d1de60b170fc8027bb7898e2efca1",
    "trec-covid": "ce62140cb23feb9becf6270d0d1fe6d1",
}


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
    counts = (len(found.ids), len(found.queries), found.n_lines)
    if folder.name in COUNTS and counts != COUNTS[folder.name]:
        published = "/".join(map(str, COUNTS[folder.name]))
        notes.append(f"documents/queries/judgements are {'/'.join(map(str, counts))}, published {published}")
    judged = found.judgements
    if half != "all":
        judged = dict(list(judged.items())[HALVES.index(half) :: 2])
        notes.append(f"every other query, those to {half}")
    queries = {name: found.queries[name] for name in judged}
    return Dataset(folder.name, folder, found.ids, found.texts, queries, judged, tuple(notes))


def fetched(name: str, folder: Path) -> Path:
    """The BEIR folder `name`: a path, a path under CDESEARCH_DATA, or an official set; raises SourceError.

    An official set is downloaded into `folder` once.
    """
    unpacked = folder / name
    for candidate in (Path(name), Path(os.environ.get("CDESEARCH_DATA", "."), name), unpacked):
        if candidate.is_dir():
            return candidate
    if name not in MD5:
        raise SourceError(f"There is no folder {name}.", f"These can be downloaded: {', '.join(sorted(MD5))}.")
    url, archive = URL.format(name=name), folder / f"{name}.zip"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        urllib.request.urlretrieve(url, archive)
    except OSError as error:
        raise SourceError(
            f"{url} cannot be reached ({error}).", f"Download it elsewhere and unpack it to {unpacked}."
        ) from None
    digest = hashlib.md5(archive.read_bytes(), usedforsecurity=False).hexdigest()
    if digest != MD5[name]:
        raise SourceError(
            f"{archive} has the checksum {digest}, the published one is {MD5[name]}.", "Delete the file and try again."
        )
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    archive.unlink()
    return unpacked
