"""A data set of the benchmarks: a BEIR folder with all of its queries or every other one."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cdesearch.errors import SourceError
from indexer.formats.records import PART
from trainer.data.pairs.reading import read_queries, read_texts

Half = Literal["all", "choose", "report"]
STRAY_SHARE = 0.01  # the share of judgements that may name unknown ids
COLUMNS = "query-id\tcorpus-id\tscore"

Judgements = Mapping[str, Mapping[str, int]]  # query to document to grade
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
    corpus, queries = read_texts(folder / "corpus.jsonl"), read_queries(folder)
    judged, n_stray = _read_judgements(folder / "qrels" / "test.tsv", corpus, queries)
    notes = [f"{n_stray} judgements name unknown ids and are left out"] if n_stray else []
    if half != "all":
        judged = dict(list(judged.items())[HALVES.index(half) :: 2])
        notes.append(f"every other query, those to {half}")
    asked = {name: queries[name] for name in judged}
    return Dataset(folder.name, folder, tuple(corpus), tuple(corpus.values()), asked, judged, tuple(notes))


def beir_folder(name: str) -> Path:
    """The BEIR folder `name`: a path, or a path under CDESEARCH_DATA; raises SourceError."""
    for candidate in (Path(name), Path(os.environ.get("CDESEARCH_DATA", "."), name)):
        if candidate.is_dir():
            return candidate
    raise SourceError(f"There is no folder {name}.", "Name a BEIR folder, or set CDESEARCH_DATA.")


def _read_judgements(
    file: Path, corpus: Mapping[str, str], queries: Mapping[str, str]
) -> tuple[dict[str, dict[str, int]], int]:
    """Relevant documents by query, and how many judgements name unknown ids."""
    try:
        with file.open("rb") as stream:
            header, *lines = stream.read().decode("utf-8").splitlines()
    except (OSError, ValueError):
        raise SourceError(f"{file} is missing or empty.", "A BEIR folder has qrels/test.tsv.") from None
    if header != COLUMNS:
        raise SourceError(f"{file} begins with {header[:60]!r}.", f"It must begin with {COLUMNS!r}.")
    judged: dict[str, dict[str, int]] = {}
    n_stray = 0
    for number, line in enumerate(lines, start=2):
        try:
            query, document, grade = line.split("\t")
            relevance = int(float(grade))
        except (ValueError, OverflowError):
            raise SourceError(
                f"{file}:{number} does not have three columns of which the last is a number.", "Correct the line."
            ) from None
        if query not in queries or document not in corpus:
            n_stray += 1
        elif relevance > 0:
            judged.setdefault(query, {})[document] = relevance
    if n_stray > STRAY_SHARE * len(lines):
        raise SourceError(
            f"{n_stray} of {len(lines)} judgements in {file} name unknown ids.",
            "Use a corpus, queries and judgements of the same data set.",
        )
    if not judged:
        raise SourceError(f"{file} has no judgement above 0.", "Use the judgements of this corpus.")
    return judged, n_stray
