"""Read folders in the format of BEIR: corpus.jsonl, queries.jsonl and qrels/test.tsv, with checks of every line."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from cdesearch.errors import SourceError
from trainer.plain_file import open_plain

STRAY_SHARE = 0.01  # the share of judgements that may name unknown ids
FILES = ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv")  # of a folder
COLUMNS = ["query-id", "corpus-id", "score"]

Judgements = Mapping[str, Mapping[str, int]]  # query to document to grade


@dataclass(frozen=True, slots=True)
class BeirFolder:
    """The contents of one folder. Queries without a relevant document are left out."""

    name: str
    ids: tuple[str, ...]  # of the texts, in the order of the file
    texts: tuple[str, ...]  # title, then text
    queries: Mapping[str, str]  # those with judgements, by id
    judgements: Judgements
    n_lines: int  # of judgements in the file
    n_stray: int  # judgements that name unknown ids, which are left out


def read_beir(folder: Path) -> BeirFolder:
    """Read and check a folder; raises a SourceError that names the file and the line."""
    corpus, queries = read_texts(folder / "corpus.jsonl"), read_queries(folder)
    judged, n_stray, n_lines = _read_judgements(folder / "qrels" / "test.tsv", corpus, queries)
    return BeirFolder(
        folder.name,
        tuple(corpus),
        tuple(corpus.values()),
        {name: queries[name] for name in judged},
        judged,
        n_lines,
        n_stray,
    )


def read_texts(corpus: Path) -> dict[str, str]:
    """The texts of a corpus.jsonl by `_id`, in order, each after its title; raises SourceError."""
    rows = _read_rows(corpus).items()
    return {name: "\n".join(part for part in (row.get("title"), row["text"]) if part) for name, row in rows}


def read_queries(folder: Path) -> dict[str, str]:
    """All queries of a folder by `_id`, in order; raises SourceError."""
    return {name: row["text"] for name, row in _read_rows(folder / "queries.jsonl").items()}


def _read_rows(file: Path) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    number = 0
    try:
        with TextIOWrapper(open_plain(file), encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    row = _checked(json.loads(line), f"{file}:{number}")
                    name = str(row["_id"])
                    if name in rows:
                        raise SourceError(f"{file}:{number} has the id {name} a second time.", "Keep one of the two.")
                    rows[name] = row
    except FileNotFoundError:
        raise SourceError(
            f"{file.parent} is not a BEIR folder: it has no {file.name}.", "See https://github.com/beir-cellar/beir."
        ) from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{file}:{number} cannot be read ({error}).", "Copy the file again.") from None
    except OSError as error:
        raise SourceError(f"{file} cannot be read ({error}).", "Copy the file again.") from None
    return rows


def _checked(row: Any, location: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise SourceError(f"{location} is not a JSON object.", "Correct the line.")
    if missing := [name for name in ("_id", "text") if name not in row]:
        raise SourceError(f"{location} has no {missing[0]!r}.", "Each line needs _id and text.")
    if not all(isinstance(row.get(name) or "", str) for name in ("title", "text")):
        raise SourceError(f"{location} has a `title` or `text` that is not a string.", "Correct the line.")
    return row


def _read_judgements(
    file: Path, corpus: Mapping[str, Any], queries: Mapping[str, Any]
) -> tuple[dict[str, dict[str, int]], int, int]:
    """Relevant documents by query, how many judgements name unknown ids, and how many judgements there are."""
    try:
        with TextIOWrapper(open_plain(file), encoding="utf-8") as stream:
            header, *lines = stream.read().splitlines()
    except (OSError, ValueError):
        raise SourceError(f"{file} is missing or empty.", "A BEIR folder has qrels/test.tsv.") from None
    if header.split("\t") != COLUMNS:
        raise SourceError(f"{file} begins with {header[:60]!r}.", f"Its columns must be {', '.join(COLUMNS)}.")
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
    return judged, n_stray, len(lines)
