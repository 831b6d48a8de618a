"""The result of a search: its hits, whether the query was truncated, and the time that the search took."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import overload

from cdesearch.search.facets import Facts
from cdesearch.store.schema import Hit

# A query whose hits all have a lower confidence counts as not answered. Chosen on development data, so that few
# questions that are answered are refused; see benchmarks/results/LOG.md.
ANSWERABLE = 0.1


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


def seem_to_answer(hits: Sequence[Hit]) -> bool:
    """Whether one of the hits of a query is likely enough to be relevant. A hit without a confidence is."""
    return any(hit.confidence is None or hit.confidence >= ANSWERABLE for hit in hits)
