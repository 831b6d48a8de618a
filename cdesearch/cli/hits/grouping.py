"""Group the hits of one file under its best passage."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cdesearch.search.result import SearchResult
from cdesearch.store.schema import Hit

FETCHED = 2  # hits that are searched at first for each group that is shown; more delay the first hits on the page
MAX_FETCHED = 100  # hits that a server returns at most

UNLIKELY = 0.05  # the confidence below which people do not see a hit beside better ones


@dataclass(slots=True)
class HitGroup:
    """The best hit of a document, with its further hits."""

    best: Hit
    more: list[Hit] = field(default_factory=list)


def search_for_groups(search: Callable[[int], SearchResult], k: int) -> SearchResult:
    """The result of `search`, which takes the number of hits, with enough hits for `k` groups.

    If a few documents fill the first hits, MAX_FETCHED hits are searched.
    """
    number = max(k, min(FETCHED * k, MAX_FETCHED))
    result = search(number)
    if len(result.hits) < number or number >= MAX_FETCHED or len(_by_document(result.hits)) >= k:
        return result
    return search(MAX_FETCHED)


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
