"""A BEIR folder: corpus, queries and judgements, checked before a number is printed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.datasets.published import COUNTS
from cdesearch.errors import SourceError
from indexer.formats.records import PART

STRAY_SHARE = 0.01  # judgements that may name unknown ids

Half = Literal["all", "choose", "report"]
HALVES = ("choose", "report")

Judgements = Mapping[str, Mapping[str, int]]  # query to document to grade


@dataclass(frozen=True, slots=True)
class Dataset:
    """Texts by place, and who is relevant to whom. Queries without a relevant document are left out."""

    name: str
    folder: Path
    ids: tuple[str, ...]
    texts: tuple[str, ...]  # title, then text
    queries: Mapping[str, str]
    judgements: Judgements
    notes: tuple[str, ...]  # what a reader of its figures must know

    @property
    def documents(self) -> list[list[int]]:
        """Places of the chunks of every document, in order; a text without PART in its id is a document of its own."""
        found: dict[str, list[int]] = {}
        for place, name in enumerate(self.ids):
            found.setdefault(name.partition(PART)[0] if PART in name else name, []).append(place)
        return list(found.values())


def read_dataset(folder: Path, half: Half = "all") -> Dataset:
    """Read and check a BEIR folder (corpus.jsonl, queries.jsonl, qrels/test.tsv); raises SourceError.

    Whoever chooses by a set's figures looks at the queries of one `half`, every other one, and reports the other.
    """
    corpus = _rows(folder / "corpus.jsonl")
    asked = {name: str(row["text"]) for name, row in _rows(folder / "queries.jsonl").items()}
    judged, stray, lines = _judgements(folder / "qrels" / "test.tsv", corpus, asked)
    notes = [f"{stray} judgements name unknown ids and are left out"] if stray else []
    counts = (len(corpus), len(judged), lines)
    if folder.name in COUNTS and counts != COUNTS[folder.name]:
        published = "/".join(map(str, COUNTS[folder.name]))
        notes.append(f"documents/queries/judgements are {'/'.join(map(str, counts))}, published {published}")
    if half != "all":
        judged = dict(list(judged.items())[HALVES.index(half) :: 2])
        notes.append(f"every other query, those to {half}")
    return Dataset(
        name=folder.name,
        folder=folder,
        ids=tuple(corpus),
        texts=tuple("\n".join(part for part in (row.get("title", ""), row["text"]) if part) for row in corpus.values()),
        queries={name: asked[name] for name in judged},
        judgements=judged,
        notes=tuple(notes),
    )


def _rows(file: Path) -> dict[str, dict[str, Any]]:
    """Rows by id, in order."""
    rows: dict[str, dict[str, Any]] = {}
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                row = json.loads(line)
                name = str(row["_id"])
                if name in rows:
                    raise SourceError(f"{file}:{number} has the id {name} a second time.", "Keep one of the two.")
                if not isinstance(row["text"], str):
                    raise SourceError(f"{file}:{number} has a `text` that is no string.", "Mend the line.")
                rows[name] = row
    except FileNotFoundError:
        raise SourceError(
            f"{file.parent} is no BEIR folder: it has no {file.name}.", "See https://github.com/beir-cellar/beir."
        ) from None
    except (OSError, ValueError) as error:
        raise SourceError(f"{file} cannot be read ({error}).", "Copy it again.") from None
    except KeyError as error:
        raise SourceError(f"{file}:{number} has no {error}.", "Each line needs _id and text.") from None
    return rows


def _judgements(
    file: Path, corpus: Mapping[str, Any], asked: Mapping[str, Any]
) -> tuple[dict[str, dict[str, int]], int, int]:
    """Relevant documents by query, how many judgements name unknown ids, and how many there are."""
    try:
        header, *lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        raise SourceError(f"{file} is missing or empty.", "A BEIR folder has qrels/test.tsv.") from None
    if header.split("\t") != ["query-id", "corpus-id", "score"]:
        raise SourceError(f"{file} begins with {header[:60]!r}.", "Its columns must be query-id, corpus-id, score.")
    judged: dict[str, dict[str, int]] = {}
    stray = 0
    for number, line in enumerate(lines, start=2):
        try:
            query, document, grade = line.split("\t")
            relevant = int(float(grade))
        except ValueError:
            raise SourceError(f"{file}:{number} has no three columns with a number last.", "Mend the line.") from None
        if query not in asked or document not in corpus:
            stray += 1
        elif relevant > 0:
            judged.setdefault(query, {})[document] = relevant
    if stray > STRAY_SHARE * len(lines):
        raise SourceError(f"{stray} of {len(lines)} judgements in {file} name unknown ids.", "Take files that agree.")
    if not judged:
        raise SourceError(f"{file} judges nothing relevant.", "Take the qrels of this corpus.")
    return judged, stray, len(lines)
