"""Pairs of query and document, one domain per file: read, cleaned of duplicates and leaks, stored for memory-mapping.

read_pairs(file)  ->  Pair, Pair, ...
prepare(files, folder, keep_out)  ->  Domain, Domain, ...
"""

import gzip
import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from cdesearch.errors import SourceError
from trainer.data.pairs.beir import read_queries, read_texts
from trainer.data.pairs.store import COLUMNS, PairTable, PairWriter, open_pairs
from trainer.data.random_stream import random_stream
from trainer.data.stored import damaged, load_json
from trainer.plain_file import open_plain
from trainer.replacing import replace_text, writing

ROWS = 4096  # of a .parquet file, read at once
SHINGLE = 13  # words
RULES = 2  # the version of the rules for leaving out pairs; a new one prepares stored pairs again
LEAK = 0.25  # a document with this share of its shingles in an evaluation corpus is a leak


@dataclass(frozen=True, slots=True)
class Pair:
    """A query, its document, and hard negatives: documents that resemble the right one."""

    query: str
    document: str
    negatives: tuple[str, ...] = ()
    document_id: str = ""  # of the long document that `document` is a chunk of, or empty


@dataclass(frozen=True, slots=True)
class Domain:
    """The pairs of one source, memory-mapped."""

    name: str
    pairs: PairTable
    dropped: dict[str, int] = field(default_factory=dict)  # reason to count

    def __len__(self) -> int:
        return len(self.pairs)

    def take(self, rows: Sequence[int]) -> list[Pair]:
        """The pairs at `rows`."""
        found = self.pairs.take(rows)
        columns = (found.column(name) for name in ("query", "document", "negatives", "document_id"))
        return [
            Pair(query, document, tuple(texts), name) for query, document, texts, name in zip(*columns, strict=True)
        ]

    def shuffled(self, random: np.random.Generator) -> list[int]:
        """All rows in random order. Chunks of a long document stay together, so that a part has whole documents."""
        rows: list[int] = random.permutation(len(self)).tolist()
        ids = self.column("document_id")
        ranks: dict[str | int, int] = {}
        return sorted(rows, key=lambda row: ranks.setdefault(ids[row] or row, len(ranks)))

    def at_most(self, cap: int | None, seed: int) -> "Domain":
        """The domain, or `cap` of its pairs drawn at random."""
        if cap is None or len(self) <= cap:
            return self
        drawn = self.shuffled(random_stream(seed, "cap"))[:cap]
        return replace(self, pairs=self.pairs.take(sorted(drawn)))

    def column(self, name: str) -> list[str]:
        """The column `name`: all queries, documents or document ids."""
        return self.pairs.column(name)

    def negatives(self) -> list[list[str]]:
        """The hard negatives of every pair."""
        return self.pairs.column("negatives")


def domain_files(sources: Iterable[Path], leave_out: Collection[str] = ()) -> list[Path]:
    """The pair files among `sources`, files and folders, without the domains in `leave_out`; raises SourceError."""
    files: list[Path] = []
    for source in sources:
        if not source.exists():
            raise SourceError(f"There is no pair file or folder {source}.", "Check the recipe's `pairs`.")
        inside = sorted(file for file in source.iterdir() if _format(file)) if source.is_dir() else [source]
        files += inside
    for file in files:
        if _format(file) is None:
            raise SourceError(f"{file} is not a .jsonl, .jsonl.gz or .parquet file.", "Convert it to one.")
    if not files:
        raise SourceError("The recipe's `pairs` name no pair file.", "Name .jsonl, .jsonl.gz or .parquet files.")
    domains: dict[str, Path] = {}
    for file in files:
        other = domains.setdefault(domain_name(file), file)
        if other is not file:
            raise SourceError(
                f"{other} and {file} would be one domain, {domain_name(file)}.", "Name each once, or rename one."
            )
    return [file for file in files if domain_name(file) not in leave_out]


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


def _pair(row: Mapping[str, Any], location: str) -> Pair:
    query, document = row.get("query"), row.get("document")
    if not isinstance(query, str) or not isinstance(document, str):
        raise SourceError(f"{location} has no text in `query` and `document`.", "Correct or remove the line.")
    negatives = row.get("negatives") or []
    if not isinstance(negatives, list) or not all(isinstance(text, str) for text in negatives):
        raise SourceError(f"{location} has `negatives` that are not a list of texts.", "Correct the line.")
    return Pair(query.strip(), document.strip(), tuple(negatives), str(row.get("document_id") or ""))


def _questions(row: Mapping[str, Any], location: str) -> Iterator[Pair]:
    try:
        chunks = dict(enumerate(row["chunks"]))  # in contrast to a list, it has no index -1
        for question in row["questions"]:
            chunk = chunks[question["chunk"]]
            yield Pair(question["text"].strip(), chunk.strip(), document_id=str(row["doc_id"]))
    except (KeyError, TypeError, AttributeError) as error:
        needs = "doc_id, chunks, and questions with `text` and `chunk`, an index in chunks"
        raise SourceError(f"{location} is not a long document ({error}).", f"It needs {needs}.") from None


def prepare(
    files: Sequence[Path], folder: Path, keep_out: Sequence[Path] = (), groups: Mapping[str, str] | None = None
) -> list[Domain]:
    """The usable pairs of each file, stored in `folder` by contents: a file that has not changed is not parsed again.

    `folder` can be copied to another machine together with the files, to any path.

    `groups` maps a domain to a pattern; only pairs whose `group` begins with it are used.

    These are left out and counted: empty texts, exact duplicates, queries of the BEIR folders in `keep_out`, documents
    of which a quarter of the 13-word shingles occur in the texts of those folders, and shorter documents that have the
    words of a whole text. If only hard negatives of a pair are such documents, the pair stays without these negatives.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    leaks: _Leaks | None = None
    domains = []
    kept_out = [_file_digest(path / name) for path in keep_out for name in ("queries.jsonl", "corpus.jsonl")]
    for file in files:
        group = (groups or {}).get(domain_name(file), "")
        stamp = [RULES, _file_digest(file), kept_out, group, COLUMNS]
        key = blake2b(json.dumps(stamp).encode(), digest_size=8).hexdigest()
        made = folder / f"{domain_name(file)}-{key}"
        counts = folder / f"{made.name}.json"
        if not (counts.exists() and made.exists()):
            leaks = leaks or _Leaks(keep_out)
            with writing(made):
                dropped = _write(read_pairs(file, group), made, leaks)
            replace_text(counts, json.dumps(dropped))  # written last: without it the other files may be incomplete
        domains.append(Domain(domain_name(file), open_pairs(made), _read_counts(counts)))
    return domains


def _read_counts(file: Path) -> dict[str, int]:
    """How many pairs were left out, by reason; raises StorageError."""
    counts = load_json(file)
    if not isinstance(counts, dict) or not all(isinstance(count, int) for count in counts.values()):
        raise damaged(file)
    return counts


def _file_digest(file: Path) -> str:
    try:
        with open_plain(file) as opened:
            return hashlib.file_digest(opened, "blake2b").hexdigest()
    except OSError as error:
        raise SourceError(f"{file} cannot be read ({error.strerror}).", "Check the recipe's paths.") from None


def _write(pairs: Iterable[Pair], out: Path, leaks: "_Leaks") -> dict[str, int]:
    dropped: Counter[str] = Counter()
    seen: set[bytes] = set()
    with PairWriter(out) as writer:
        for pair in pairs:
            reason = _unusable(pair, seen, leaks)
            if reason:
                dropped[reason] += 1
                continue
            negatives = tuple(text for text in pair.negatives if not leaks.in_texts(text))
            if n_leaks := len(pair.negatives) - len(negatives):
                dropped["leak among hard negatives"] += n_leaks
            writer.write(asdict(replace(pair, negatives=negatives)))
    return dict(dropped)


def _unusable(pair: Pair, seen: set[bytes], leaks: "_Leaks") -> str | None:
    if not pair.query or not pair.document:
        return "empty"
    digest = blake2b(f"{pair.query}\0{pair.document}".encode("utf-8", "replace"), digest_size=12).digest()
    if digest in seen:
        return "double"
    seen.add(digest)
    return "leak" if leaks.holds(pair) else None


class _Leaks:
    """The queries and texts of evaluation sets, which no pair may contain."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._queries: set[str] = set()
        self._shingles: set[int] = set()
        self._short: set[str] = set()  # words of texts without shingles
        for folder in folders:
            for text in read_queries(folder).values():
                self._queries.add(_joined(text))
            for text in read_texts(folder / "corpus.jsonl").values():
                self._shingles |= _shingles(text)
                # A text counts both with its title, which read_texts puts before it, and without.
                self._short |= {_joined(part) for part in (text, text.partition("\n")[2]) if _is_short(part)}

    def holds(self, pair: Pair) -> bool:
        """Whether training on this pair would be training on a test."""
        return bool(self._queries) and (_joined(pair.query) in self._queries or self.in_texts(pair.document))

    def in_texts(self, document: str) -> bool:
        """Whether a document of training is, or resembles, a text of an evaluation set."""
        if not self._queries:
            return False
        shingles = _shingles(document)
        if not shingles:
            return _joined(document) in self._short
        return len(shingles & self._shingles) >= LEAK * len(shingles)


def _joined(text: str) -> str:
    return " ".join(_words(text))


def _is_short(text: str) -> bool:
    return 0 < len(_words(text)) < SHINGLE


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _shingles(text: str) -> set[int]:
    words = _words(text)
    return {hash(tuple(words[start : start + SHINGLE])) for start in range(len(words) - SHINGLE + 1)}


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a pair file; raises a SourceError that names the file, and in a .jsonl file the line."""
    number = 0
    packed = file.name.lower().endswith(".gz")
    try:
        with open_plain(file) as stream, gzip.open(stream) if packed else stream as lines:
            if _format(file) == "parquet":
                yield from _table_rows(stream, file)
                return
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _parsed(line, f"{file}:{number}")
    except (OSError, EOFError, zlib.error) as error:
        after = f" after line {number}" if number else ""
        raise SourceError(f"{file} cannot be read{after} ({error}).", "Copy the file again.") from None


def _table_rows(stream: BinaryIO, file: Path) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        for batch in pq.ParquetFile(stream).iter_batches(ROWS):
            yield from batch.to_pylist()
    except (pa.ArrowException, ValueError) as error:
        raise SourceError(f"{file} is not a readable Parquet file ({error}).", "Copy the file again.") from None


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


def domain_name(file: Path) -> str:
    """The domain of a pair file: its name up to the first dot."""
    return file.name.split(".")[0]
