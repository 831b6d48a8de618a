"""The pairs of each domain: cleaned of duplicates and leaks, and stored for memory-mapping."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from unicodedata import normalize

import numpy as np

from cdesearch.errors import InputError, SourceError
from trainer.data.pairs.reading import Pair, domain_name, read_pairs, read_queries, read_texts
from trainer.data.store import Arrays, Integers, Rows, digest_of, encoded, random_stream, spans, stored

SHINGLE = 13  # words
LEAK = 0.25  # a document with this share of its shingles in an evaluation corpus is a leak
RULES = "5"  # the version of the table, and of the rules for leaving out pairs; a new one prepares pairs again
TEXTS = ("query", "document", "document_id")


class Leaks:
    """The queries and texts of evaluation sets, which no pair may contain."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._queries: set[str] = set()
        self._shingles: set[int] = set()
        self._short: set[str] = set()  # words of texts without shingles
        for folder in folders:
            for text in read_queries(folder).values():
                self._queries |= {_joined(text)} - {""}
            for text in read_texts(folder / "corpus.jsonl").values():
                self._shingles |= _shingles(text)
                # A text counts both with its title, which read_texts puts before it, and without.
                self._short |= {
                    _joined(part) for part in (text, text.partition("\n")[2]) if 0 < len(_words(part)) < SHINGLE
                }

    def holds(self, pair: Pair) -> bool:
        """Whether training on this pair would be training on a test."""
        return _joined(pair.query) in self._queries or self.in_texts(pair.document)

    def in_texts(self, document: str) -> bool:
        """Whether a document of training is, or resembles, a text of an evaluation set."""
        shingles = _shingles(document)
        if not shingles:
            return _joined(document) in self._short
        return len(shingles & self._shingles) >= LEAK * len(shingles)


def _joined(text: str) -> str:
    return " ".join(_words(text))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", normalize("NFKC", text).lower())


def _shingles(text: str) -> set[int]:
    words = _words(text)
    return {hash(tuple(words[start : start + SHINGLE])) for start in range(len(words) - SHINGLE + 1)}


class Domain:
    """Pairs of one source, memory-mapped."""

    def __init__(self, name: str, table: Arrays, rows: Integers | None = None) -> None:
        """`rows` are the pairs of the stored `table` that belong to it; None: all."""
        self.name = name
        self._table = table
        self._texts = {column: Rows.of(table[column], table[f"{column}_lengths"]) for column in (*TEXTS, "negatives")}
        self._negatives, self._scores = (
            Rows.of(np.empty(0), table[f"{name}_counts"]).ends for name in ("negatives", "scores")
        )
        self._rows = np.arange(len(table["place"])) if rows is None else rows
        counts = zip(table["dropped"].tolist(), table["dropped_counts"].tolist(), strict=True)
        self.dropped: dict[str, int] = dict(counts)  # from a reason to the number of pairs

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, name: str) -> list[str]:
        """The column `name`: all queries, documents or document ids."""
        return self._texts[name].texts(self._rows)

    def take(self, rows: Sequence[int] | Integers) -> list[Pair]:
        chosen = self._rows[np.asarray(rows, np.int64)]
        columns = (self._texts[name].texts(chosen) for name in TEXTS)
        pairs = []
        for row, query, document, name in zip(chosen.tolist(), *columns, strict=True):
            negatives = self._texts["negatives"].texts(range(self._negatives[row], self._negatives[row + 1]))
            scores = self._table["scores"][self._scores[row] : self._scores[row + 1]].tolist()
            place = int(self._table["place"][row])
            pairs.append(Pair(query, document, tuple(negatives), name, tuple(scores), place))
        return pairs

    def negatives(self, most: int) -> tuple[list[str], Integers]:
        """At most `most` hard negatives of every pair, one after the other, and the number (n,) of each."""
        firsts = self._negatives[self._rows]
        counts = np.minimum(self._negatives[self._rows + 1] - firsts, most)
        return self._texts["negatives"].texts(spans(firsts, counts)), counts

    def is_scored(self) -> bool:
        """Whether every pair has scores of a teacher."""
        return bool((self._table["scores_counts"][self._rows] > 0).all())

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
        drawn = sorted(self.shuffled(random_stream(seed, "cap"))[:cap])
        return Domain(self.name, self._table, self._rows[drawn])


def prepare(
    files: Sequence[Path],
    folder: Path,
    keep_out: Sequence[Path] = (),
    groups: Mapping[str, str] | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> list[Domain]:
    """The usable pairs of each file, stored in `folder` by contents: a file that has not changed is not parsed again.

    `groups` maps a domain to a pattern; only pairs whose `group` begins with it are used.

    These are left out and counted: empty texts, exact duplicates, queries of the BEIR folders in `keep_out`, documents
    of which a quarter of the 13-word shingles occur in the texts of those folders, and shorter documents that have the
    words of a whole text. If only hard negatives of a pair are such documents, the pair stays without these negatives.
    `advance` takes the number of pairs read since its last call. Raises InputError for a group of an unknown domain.
    """
    groups = groups or {}
    names = list(map(domain_name, files))
    if unknown := sorted(groups.keys() - set(names)):
        raise InputError(
            f"data.groups names {unknown[0]}, but no pair file has that name.",
            f"Name one of {', '.join(names)}, or set data.groups to {{}}.",
        )
    leaks = cache(partial(Leaks, keep_out))
    kept_out = [file_digest(path / name) for path in keep_out for name in ("queries.jsonl", "corpus.jsonl")]
    domains = []
    for name, file in zip(names, files, strict=True):
        group = groups.get(name, "")
        key = digest_of(RULES, file_digest(file), group, kept_out)
        make = partial(_table, partial(read_pairs, file, group), leaks, advance)
        domains.append(Domain(name, stored(folder / f"{name}-{key}", make)))
    return domains


def file_digest(file: Path) -> str:
    """A digest of the contents of a pair file; raises SourceError."""
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "blake2b").hexdigest()
    except OSError as error:
        raise SourceError(f"{file} cannot be read ({error.strerror}).", "Check the recipe's paths.") from None


def _usable(pairs: Iterable[Pair], leaks: Leaks, dropped: Counter[str]) -> Iterator[Pair]:
    """The usable pairs, without hard negatives that are leaks; the others are counted by reason."""
    seen: set[bytes] = set()
    for pair in pairs:
        digest = blake2b(f"{pair.query}\0{pair.document}".encode("utf-8", "replace"), digest_size=12).digest()
        if not pair.query or not pair.document:
            dropped["without text"] += 1
        elif digest in seen:
            dropped["duplicates"] += 1
        elif leaks.holds(pair):
            dropped["leaks"] += 1
        else:
            kept = [number for number, text in enumerate(pair.negatives) if not leaks.in_texts(text)]
            if n_leaks := len(pair.negatives) - len(kept):
                dropped["leaks among hard negatives"] += n_leaks
            scores = (pair.scores[0], *(pair.scores[1 + number] for number in kept)) if pair.scores else ()
            yield replace(pair, negatives=tuple(pair.negatives[number] for number in kept), scores=scores)
        seen.add(digest)


def _table(read: Callable[[], Iterable[Pair]], leaks: Callable[[], Leaks], advance: Callable[[int], object]) -> Arrays:
    """The arrays of the usable pairs, and how many were dropped for which reason."""
    dropped: Counter[str] = Counter()
    pairs = []
    for pair in _usable(read(), leaks(), dropped):
        pairs.append(pair)
        advance(1)
    table: Arrays = {}
    for name in TEXTS:
        table[name], table[f"{name}_lengths"] = encoded(getattr(pair, name) for pair in pairs)
    table["negatives"], table["negatives_lengths"] = encoded(text for pair in pairs for text in pair.negatives)
    table["scores"] = np.array([score for pair in pairs for score in pair.scores], np.float64)
    for name in ("negatives", "scores"):
        table[f"{name}_counts"] = np.array([len(getattr(pair, name)) for pair in pairs], np.int64)
    table["place"] = np.array([pair.place for pair in pairs], np.int64)
    table["dropped"] = np.array(list(dropped), np.str_)
    table["dropped_counts"] = np.array(list(dropped.values()), np.int64)
    return table
