"""Pair files: which there are, and the pairs in each.

read_pairs(file)  ->  Pair, Pair, ...
"""

import gzip
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdesearch.errors import SourceError
from trainer.data.pairs.saved_dataset import shard_rows, shards_of
from trainer.plain_file import open_plain

# Columns of sentence-transformers that count as ours.
OTHER_NAMES = {"query": "anchor", "document": "positive"}
_NEGATIVE = re.compile(r"negative(_\d+)?")
# Of a teacher's score, up to which float32 distinguishes neighbouring whole numbers.
LARGEST_SCORE = 2**24


@dataclass(frozen=True, slots=True)
class Pair:
    """A query, its document, and hard negatives: documents that resemble the right one."""

    query: str
    document: str
    negatives: tuple[str, ...] = ()
    document_id: str = ""  # of the long document that `document` is a chunk of, or empty
    scores: tuple[float, ...] = ()  # of a teacher, for `document` and then for each of the negatives; or none
    place: int = 0  # of `document` among the chunks of the long document
    group: str = ""  # the part of the domain that the pair comes from, or empty


def domain_files(sources: Iterable[Path]) -> list[Path]:
    """The pair files among `sources`, files and folders; raises SourceError.

    A data set in a folder of the library `datasets` counts as one file.
    """
    domains: dict[str, Path] = {}
    for source in sources:
        if not source.exists():
            raise SourceError(
                f"There is no pair file or folder {source}.",
                "Check the path. A path in a recipe may be relative to the folder that CDESEARCH_DATA names.",
            )
        for file in _inside(source) if source.is_dir() and not shards_of(source) else [source]:
            if _format(file) is None and not shards_of(file):
                raise SourceError(f"{file} is not a .jsonl, .jsonl.gz or .parquet file.", "Convert it to one.")
            other = domains.setdefault(domain_name(file), file)
            if other is not file:
                raise SourceError(
                    f"{other} and {file} would be one domain, {domain_name(file)}.", "Name each once, or rename one."
                )
    if not domains:
        raise SourceError("There is no pair file.", "Name .jsonl, .jsonl.gz or .parquet files, or folders of them.")
    return list(domains.values())


def _inside(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if _format(entry) or (entry.is_dir() and shards_of(entry)))


def parts_of(file: Path) -> list[Path]:
    """The files on disk that a pair file consists of: itself, or those of a data set. Raises SourceError."""
    return shards_of(file) or [file]


def domain_name(file: Path) -> str:
    """The domain of a pair file: its name up to the first dot."""
    return file.name.split(".")[0]


def read_pairs(file: Path, group: str = "") -> Iterator[Pair]:
    """The pairs of one file whose `group` begins with a pattern; raises a SourceError that names file and line.

    A row is a pair, or a long document with `chunks` and `questions`. A question has a `text`, and `chunk` is the index
    of the chunk that answers it.
    """
    wanted = re.compile(group)
    for number, row in enumerate(_rows(file), start=1):
        if group and not wanted.match(str(row.get("group"))):
            continue
        if "questions" in row:
            yield from _questions(row, f"{file}:{number}")
        else:
            yield _pair(row, f"{file}:{number}")


def read_passages(file: Path) -> Iterator[list[str]]:
    """The documents of one file without their queries, each as a list of its passages; raises SourceError.

    The passages of a long document are its `chunks`, and those of a pair are its document alone.
    """
    for number, row in enumerate(_rows(file), start=1):
        passages = row.get("chunks") or [row.get("document", row.get(OTHER_NAMES["document"]))]
        if not isinstance(passages, list) or not all(isinstance(passage, str) for passage in passages):
            raise SourceError(f"{file}:{number} has no text in `document` or `chunks`.", "Correct or remove the line.")
        yield [text for passage in passages if (text := _cleaned(passage))]


def _cleaned(text: str) -> str:
    """The text without white space around it; halves of a surrogate pair, which have no UTF-8, are question marks."""
    return text.strip().encode("utf-8", "replace").decode("utf-8")


def _pair(row: Mapping[str, Any], location: str) -> Pair:
    query, document = (row.get(name, row.get(other)) for name, other in OTHER_NAMES.items())
    if not isinstance(query, str) or not isinstance(document, str):
        raise SourceError(f"{location} has no text in `query` and `document`.", "Correct or remove the line.")
    negatives = row.get("negatives") or _numbered_negatives(row, location)
    if not isinstance(negatives, list) or not all(isinstance(text, str) for text in negatives):
        raise SourceError(f"{location} has `negatives` that are not a list of texts.", "Correct the line.")
    return Pair(
        _cleaned(query),
        _cleaned(document),
        tuple(map(_cleaned, negatives)),
        document_id=_cleaned(str(row.get("document_id") or "")),
        scores=_scores(row, 1 + len(negatives), location),
        place=_place(row, location),
        group=_cleaned(str(row.get("group") or "")),
    )


def _numbered_negatives(row: Mapping[str, Any], location: str) -> list[str]:
    """The negatives of sentence-transformers, each in a column of its own; raises SourceError."""
    columns = [name for name in row if _NEGATIVE.fullmatch(name)]
    if wrong := [name for name in columns if not isinstance(row[name], str)]:
        raise SourceError(f"{location} has no text in `{wrong[0]}`.", "Correct or remove the line.")
    return [row[name] for name in columns]


def _scores(row: Mapping[str, Any], n: int, location: str) -> tuple[float, ...]:
    """The teacher's scores of the document and of n - 1 negatives, if there are any; raises SourceError."""
    scores = row.get("scores") or []
    if not isinstance(scores, list) or not all(_is_number(score) for score in scores) or len(scores) not in (0, n):
        raise SourceError(
            f"{location} has `scores` that are not one number for the document and one for each of its negatives.",
            "Correct the line.",
        )
    if any(abs(score) > LARGEST_SCORE for score in scores):
        raise SourceError(
            f"{location} has `scores` that are not from -{LARGEST_SCORE:,} to {LARGEST_SCORE:,}.",
            "Scale all scores of the file.",
        )
    return tuple(map(float, scores))


def _place(row: Mapping[str, Any], location: str) -> int:
    """The place of the document among the chunks of its long document, from 0; raises SourceError."""
    place = row.get("place") or 0
    if not isinstance(place, int) or place is True or place < 0:
        raise SourceError(f"{location} has a `place` that is not a whole number from 0.", "Correct the line.")
    return place


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf


def _questions(row: Mapping[str, Any], location: str) -> Iterator[Pair]:
    try:
        chunks = dict(enumerate(row["chunks"]))  # in contrast to a list, it has no index -1
        for question in row["questions"]:
            chunk = chunks[question["chunk"]]
            name, group = _cleaned(str(row["doc_id"])), _cleaned(str(row.get("group") or ""))
            yield Pair(_cleaned(question["text"]), _cleaned(chunk), (), name, (), int(question["chunk"]), group)
    except (KeyError, TypeError, AttributeError) as error:
        needs = "doc_id, chunks, and questions with `text` and `chunk`, an index in chunks"
        raise SourceError(f"{location} is not a long document ({error}).", f"It needs {needs}.") from None


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a pair file; raises a SourceError that names the file, and in a .jsonl file the line."""
    number = 0
    packed = file.name.lower().endswith(".gz")
    try:
        if shards := shards_of(file) if file.is_dir() else [file] if _format(file) == "parquet" else []:
            for shard in shards:
                yield from shard_rows(shard)
            return
        with open_plain(file) as stream, gzip.open(stream) if packed else stream as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _parsed(line, f"{file}:{number}")
    except (OSError, EOFError, zlib.error) as error:
        after = f" after line {number}" if number else ""
        raise SourceError(f"{file} cannot be read{after} ({error}).", "Copy the file again.") from None


def _parsed(line: bytes, location: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{location} is not JSON ({error}).", "Correct or remove the line.") from None
    if not isinstance(row, dict):
        raise SourceError(f"{location} is not a JSON object.", "Correct or remove the line.")
    return row


def _format(file: Path) -> str | None:
    name = file.name.lower()
    if name.endswith((".jsonl", ".jsonl.gz")):
        return "jsonl"
    return "parquet" if name.endswith(".parquet") else None
