"""The result of a search: its hits, whether the query was truncated, and the time that the search took.

Hits that repeat the text of a better hit of another file, such as a copy, a backup or another format, are folded.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import overload

from cdesearch.search.facets import Facts
from cdesearch.store.schema import Hit
from cdesearch.words.word_forms import shingles_of

# A query whose hits all have a lower confidence counts as not answered. Chosen on development data, so that few
# questions that are answered are refused; see benchmarks/results/LOG.md.
ANSWERABLE = 0.1
LIKELY = 0.5  # the least confidence of a hit that is more likely relevant than not
SAME = 0.9  # two texts are the same if they share at least this part of all their shingles

Shingles = frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class SearchResult(Sequence[Hit]):
    """The hits of one query, best first. A result is a sequence of its hits.

    Two results with the same hits are equal, even if other generations answered or the searches took different times.
    """

    hits: tuple[Hit, ...]
    truncated_to: int | None = None  # the number of tokens that the model read of a longer query, otherwise None
    seconds: float = field(default=0.0, compare=False)  # that the search took, with all queries of `search_many`
    generation: str = field(default="", compare=False)  # the name of the generation that answered
    stage: str = field(default="complete", compare=False)  # how much of it can be searched, see `Manifest.stage`
    total: int | None = None  # the number of files or documents that a query without words lists, `hits` and others
    searched: str | None = None  # the text that was searched for in place of one with misspelled words
    unknown: tuple[str, ...] = field(default=(), compare=False)  # words of the query that are in no text
    unknown_name: str | None = None  # a name in the query that no text of the corpus has, see `find_unknown_name`
    # whether no chunk of another index may be a hit, because these contain a phrase that the query demands
    is_complete: bool = field(default=False, compare=False)
    # of the candidates' documents, by the name of the index and their ids, if the request asks for `facets`
    documents: Mapping[tuple[str | None, str], Facts] = field(default_factory=dict, compare=False)

    @property
    def seems_answered(self) -> bool:
        """Whether the hits seem to answer the query, see `seem_to_answer`."""
        return seem_to_answer(self.hits)

    def confident(self, minimum: float) -> "SearchResult":
        """The result without the hits whose confidence is lower than `minimum`. The others keep their ranks."""
        return replace(
            self, hits=tuple(hit for hit in self.hits if hit.confidence is None or hit.confidence >= minimum)
        )

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


def no_text_contains(name: str) -> str:
    """The sentence that tells an unknown name of a query."""
    return f'No text here contains "{name}".'


def shown_instead(searched: str) -> str:
    """The sentence that tells what was searched for in place of the query."""
    return f'Showing hits for "{searched}".'


def seem_to_answer(hits: Sequence[Hit]) -> bool:
    """Whether one of the hits of a query is likely enough to be relevant. A hit without a confidence is."""
    return any(hit.confidence is None or hit.confidence >= ANSWERABLE for hit in hits)


def fold_copies(hits: Iterable[Hit], k: int) -> tuple[Hit, ...]:
    """The `k` best hits with ranks from 1; a hit whose text a better one of another file has is one of its `copies`.

    Records of one file are never copies, because each is an entry of its own. No more hits are read than needed.
    """
    kept: list[Hit] = []
    texts: list[Shingles] = []
    for hit in hits:
        shingles = shingles_of(hit.chunk.body)
        originals = (n for n, known in enumerate(texts) if _are_same(shingles, known) and _file(kept[n]) != _file(hit))
        original = next(originals, None)
        if original is not None:
            better = kept[original]
            kept[original] = replace(better, copies=(*better.copies, hit, *hit.copies))
            continue
        kept.append(replace(hit, rank=len(kept) + 1))
        texts.append(shingles)
        if len(kept) == k:
            break
    return tuple(kept)


def _file(hit: Hit) -> tuple[str | None, str]:
    return hit.index, hit.chunk.path


def _are_same(one: Shingles, other: Shingles) -> bool:
    if min(len(one), len(other)) < SAME * max(len(one), len(other)):
        return False
    return len(one & other) >= SAME * len(one | other)
