"""The pairs of each domain: cleaned of duplicates and leaks, and stored for memory-mapping.

prepare(files, folder, keep_out)  ->  Domain, Domain, ...
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cdesearch.errors import InputError, SourceError
from trainer.data.pairs.leaks import Leaks
from trainer.data.pairs.reading import Pair, domain_name, parts_of, read_pairs
from trainer.data.pairs.store import COLUMNS, PairTable, PairWriter, open_pairs, stored_files
from trainer.data.random_stream import random_stream
from trainer.data.stored import BLOCK, check_sums, damaged, kept_arrays, load_json, save_sums
from trainer.plain_file import open_plain
from trainer.replacing import remove, replace_text, writing

RULES = 4  # the version of the rules for leaving out pairs; a new one prepares stored pairs again


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
        columns = (found.column(name) for name in ("query", "document", "negatives", "document_id", "scores", "place"))
        return [
            Pair(query, document, tuple(texts), name, tuple(map(float, scores)), int(place))
            for query, document, texts, name, scores, place in zip(*columns, strict=True)
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

    def is_scored(self) -> bool:
        """Whether every pair has scores of a teacher."""
        return all(self.pairs.column("scores"))

    def negatives(self) -> list[list[str]]:
        """The hard negatives of every pair."""
        return self.pairs.column("negatives")


def prepare(
    files: Sequence[Path],
    folder: Path,
    keep_out: Sequence[Path] = (),
    groups: Mapping[str, str] | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> list[Domain]:
    """The usable pairs of each file, stored in `folder` by contents: a file that has not changed is not parsed again.

    `folder` can be copied to another machine together with the files, to any path.

    `groups` maps a domain to a pattern; only pairs whose `group` begins with it are used.

    These are left out and counted: empty texts, exact duplicates, queries of the BEIR folders in `keep_out`, documents
    of which a quarter of the 13-word shingles occur in the texts of those folders, and shorter documents that have the
    words of a whole text. If only hard negatives of a pair are such documents, the pair stays without these negatives.
    `advance` takes the number of pairs read since its last call. If it raises an exception, what is known of the leaks
    is kept, and the next call needs only to read the pairs again. Raises InputError for a group of an unknown domain.
    """
    groups = groups or {}
    names = list(map(domain_name, files))
    if unknown := sorted(groups.keys() - set(names)):
        raise InputError(
            f"data.groups names {unknown[0]}, but no pair file has that name.",
            f"Name one of {', '.join(names)}, or set data.groups to {{}}.",
        )
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    leaks = cache(partial(Leaks, keep_out, advance))
    domains = []
    kept_out = [_file_digest(path / name) for path in keep_out for name in ("queries.jsonl", "corpus.jsonl")]
    for file in files:
        group = groups.get(domain_name(file), "")
        stamp = [RULES, _file_digest(file), kept_out, group, COLUMNS]
        key = blake2b(json.dumps(stamp).encode(), digest_size=8).hexdigest()
        made = folder / f"{domain_name(file)}-{key}"
        counts = folder / f"{made.name}.json"
        sums = folder / f"{made.name}.sums.json"
        if not all(one.exists() for one in (counts, sums, *stored_files(made))):
            with writing(made):
                dropped = _write(read_pairs(file, group), made, leaks, advance)
            save_sums(sums, stored_files(made))
            replace_text(counts, json.dumps(dropped))  # written last: without it the other files may be incomplete
        remove(_parts(made))
        check_sums(sums, stored_files(made))
        domains.append(Domain(domain_name(file), open_pairs(made), _read_counts(counts)))
        advance(0)
    return domains


def _read_counts(file: Path) -> dict[str, int]:
    """How many pairs were left out, by reason; raises StorageError."""
    counts = load_json(file)
    if not isinstance(counts, dict) or not all(isinstance(count, int) for count in counts.values()):
        raise damaged(file)
    return counts


def _file_digest(file: Path) -> str:
    try:
        digests = []
        for part in parts_of(file):
            with open_plain(part) as opened:
                digests.append(hashlib.file_digest(opened, "blake2b").hexdigest())
        return " ".join(digests)
    except OSError as error:
        raise SourceError(f"{file} cannot be read ({error.strerror}).", "Check the recipe's paths.") from None


def _write(
    pairs: Iterator[Pair], out: Path, leaks: Callable[[], Leaks], advance: Callable[[int], object]
) -> dict[str, int]:
    dropped: Counter[str] = Counter()
    seen: set[bytes] = set()
    with PairWriter(out) as writer:
        for number, block in enumerate(iter(lambda: list(islice(pairs, BLOCK)), [])):
            are_leaks, cleaned = _leaks_among(block, _parts(out) / f"{number}.npz", leaks)
            for pair, is_leak, kept in zip(block, are_leaks, cleaned, strict=True):
                reason = _unusable(pair, seen) or ("leaks" if is_leak else None)
                if reason:
                    dropped[reason] += 1
                    continue
                if n_leaks := len(pair.negatives) - len(kept.negatives):
                    dropped["leaks among hard negatives"] += n_leaks
                writer.write(asdict(kept))
            advance(len(block))
    return dict(dropped)


def _parts(made: Path) -> Path:
    """The folder of what is known of the leaks among the pairs, until these are written."""
    return made.with_name(f"{made.name}.parts")


def _leaks_among(block: Sequence[Pair], file: Path, leaks: Callable[[], Leaks]) -> tuple[list[bool], list[Pair]]:
    """For each pair of a block whether it is a leak, and the pair without hard negatives that are; kept in `file`."""

    def find() -> dict[str, NDArray[np.bool_]]:
        negatives = [leaks().in_texts(text) for pair in block for text in pair.negatives]
        return {"pairs": np.array([leaks().holds(pair) for pair in block]), "negatives": np.array(negatives, np.bool_)}

    found = kept_arrays(file, ("pairs", "negatives"), find)
    if len(found["pairs"]) != len(block) or len(found["negatives"]) != sum(len(pair.negatives) for pair in block):
        raise damaged(file)
    of_negatives = iter(found["negatives"].tolist())
    return found["pairs"].tolist(), [_without(pair, [next(of_negatives) for _ in pair.negatives]) for pair in block]


def _without(pair: Pair, are_leaks: Sequence[bool]) -> Pair:
    """The pair without the hard negatives that are leaks, and without their scores."""
    kept = [number for number, is_leak in enumerate(are_leaks) if not is_leak]
    scores = (pair.scores[0], *(pair.scores[1 + number] for number in kept)) if pair.scores else ()
    return replace(pair, negatives=tuple(pair.negatives[number] for number in kept), scores=scores)


def _unusable(pair: Pair, seen: set[bytes]) -> str | None:
    if not pair.query or not pair.document:
        return "without text"
    digest = blake2b(f"{pair.query}\0{pair.document}".encode("utf-8", "replace"), digest_size=12).digest()
    if digest in seen:
        return "duplicates"
    seen.add(digest)
    return None
