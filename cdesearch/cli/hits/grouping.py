"""Group the hits of one file under its best passage."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from glob import escape

from cdesearch.search.readable import suffix_of
from cdesearch.search.request import SearchRequest
from cdesearch.search.result import ANSWERABLE, SearchResult
from cdesearch.store.schema import Hit

FETCHED = 2  # hits that are searched at first for each group that is shown; more delay the first hits on the page
MAX_FETCHED = 100  # hits that a server returns at most

FEW = 3  # rows of one file that come before likely hits of other files
CROWDED = 20  # best hits, among which rows are counted
_ROWS = frozenset({".csv", ".jsonl", ".log", ".ndjson", ".parquet", ".psv", ".tsv"})  # files of which rows are hits
Search = Callable[[SearchRequest], SearchResult]

UNLIKELY = 0.05  # the confidence below which people do not see a hit beside better ones


@dataclass(slots=True)
class HitGroup:
    """The best hit of a document, with its further hits."""

    best: Hit
    more: list[Hit] = field(default_factory=list)


def search_for_groups(search: Search, asked: SearchRequest) -> SearchResult:
    """The result of `search` with enough hits for as many groups as hits are asked for.

    If a few documents fill the first hits, MAX_FETCHED hits are searched.
    """
    k = asked.k
    number = max(k, min(FETCHED * k, MAX_FETCHED))
    result = search(asked.for_hits(number))
    if len(result.hits) == number < MAX_FETCHED and len(_by_document(result.hits)) < k:
        result = search(asked.for_hits(MAX_FETCHED))
    return with_other_files(search, asked, result)


def with_other_files(search: Search, asked: SearchRequest, result: SearchResult) -> SearchResult:
    """The result of a request, where likely hits of other files precede the rows of a table or log after the first FEW.

    `search` finds these hits without the tables and logs whose rows would leave them no place.
    """
    rows = _further_rows(result.hits[:CROWDED])
    excluded = dict.fromkeys(f'-path:"{escape(hit.chunk.path)}"' for hit in rows)
    other = replace(asked.for_hits(CROWDED), text=" ".join([asked.text, *excluded]), facets=False)
    if not (asked.words and excluded and other.query.excluded_path):
        return result
    found, ranks = search(other).hits, {_key(hit): hit.rank for hit in result.hits}
    beyond = {*map(_key, _further_rows(found))}
    least = max(ANSWERABLE, asked.min_confidence)
    likely = (hit for hit in found if (hit.confidence or 0.0) >= least and _key(hit) not in beyond)
    moved = (replace(hit, rank=ranks.get(_key(hit), len(ranks) + hit.rank)) for hit in likely)
    ordered: dict[tuple[str | None, str], Hit] = {}
    for hit in (*result.hits[: result.hits.index(rows[0])], *moved, *result.hits):
        ordered.setdefault(_key(hit), hit)
    return replace(result, hits=tuple(ordered.values()))


def _key(hit: Hit) -> tuple[str | None, str]:
    return hit.index, hit.chunk.id


def _further_rows(hits: Sequence[Hit]) -> list[Hit]:
    """The hits in tables and logs, except the FEW best of each of these files."""
    counts, further = Counter[tuple[str | None, str]](), list[Hit]()
    for hit in hits:
        if suffix_of(hit.chunk.path) in _ROWS:
            counts[hit.index, hit.chunk.path] += 1
            further += [hit] * (counts[hit.index, hit.chunk.path] > FEW)
    return further


def group_hits(hits: Sequence[Hit], k: int) -> list[HitGroup]:
    """At most `k` groups, best first. If all hits are in one document or record, the best of them are groups."""
    groups = _by_document(hits)
    if len(groups) == 1:
        (group,) = groups.values()
        alone, group.more = group.more[: k - 1], group.more[k - 1 :]
        return [group, *map(HitGroup, alone)]
    return list(groups.values())[:k]


def without_unlikely(groups: Sequence[HitGroup]) -> list[HitGroup]:
    """The groups whose best hits are not UNLIKELY to be relevant; all groups if every one is."""
    likely = [group for group in groups if group.best.confidence is None or group.best.confidence >= UNLIKELY]
    return likely or list(groups)


def _by_document(hits: Sequence[Hit]) -> dict[tuple[str | None, str], HitGroup]:
    """The groups of all hits, best first, by the index and the document of their best hits."""
    groups: dict[tuple[str | None, str], HitGroup] = {}
    for hit in hits:
        group = groups.setdefault((hit.index, hit.chunk.document_id), HitGroup(hit))
        if group.best is not hit:
            group.more.append(hit)
    return groups
