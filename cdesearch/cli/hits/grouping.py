"""Group the hits of one file under its best passage, and fold passages that repeat the text of a better one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cdesearch.search.result import SearchResult
from cdesearch.search.word_forms import shingles_of
from cdesearch.store.schema import Hit

SAME = 0.9  # two texts are the same if they share at least this part of all their shingles
FETCHED = 4  # hits that are searched at first for each group that is shown
MAX_FETCHED = 100  # hits that a server returns at most

Document = tuple[str | None, str]  # the name of the index in a search of several, and the id in the index


@dataclass(slots=True)
class HitGroup:
    """The best hit of a document, with its further hits, and the hits of other documents with the same text."""

    best: Hit
    more: list[Hit] = field(default_factory=list)
    same: list[Hit] = field(default_factory=list)


def group_of(hit: Hit) -> HitGroup:
    """A group of one hit, with its copies in other indexes."""
    return HitGroup(hit, same=[*hit.copies])


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
    """At most `k` groups, best first. A record is a document of its own.

    If all hits are in one document, the best of them are groups.
    """
    groups = _by_document(hits)
    if len(groups) == 1:
        (group,) = groups.values()
        alone, group.more = group.more[: k - 1], group.more[k - 1 :]
        return [group, *map(group_of, alone)]
    return list(groups.values())[:k]


def _by_document(hits: Sequence[Hit]) -> dict[Document, HitGroup]:
    """The groups of all hits by the documents of their best hits, best first."""
    groups: dict[Document, HitGroup] = {}
    kept: list[tuple[Hit, frozenset[tuple[str, ...]]]] = []
    for hit in hits:
        shingles = shingles_of(hit.chunk.body)
        original = next((one for one, known in kept if _is_repeated(hit, shingles, one, known)), None)
        if original is not None:
            group = groups[_document(original)]
            if group.best is original:
                group.same += (hit, *hit.copies)
            continue
        kept.append((hit, shingles))
        group = groups.setdefault(_document(hit), group_of(hit))
        if group.best is not hit:
            group.more.append(hit)
    return groups


def _document(hit: Hit) -> Document:
    return hit.index, hit.chunk.document_id


def _is_repeated(
    hit: Hit, shingles: frozenset[tuple[str, ...]], better: Hit, known: frozenset[tuple[str, ...]]
) -> bool:
    """Whether a hit repeats the text of a better hit of another document."""
    if _document(hit) == _document(better):
        return False
    if min(len(shingles), len(known)) < SAME * max(len(shingles), len(known)):
        return False
    return len(shingles & known) >= SAME * len(shingles | known)
