"""Several indexes that are searched as one: their hits are merged by confidence.

Scores of different indexes are not comparable, because each query has its own weight of text in each index. The
confidence is calibrated by the context of each index. benchmarks/results/LOG.md compares other rules.
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from typing import Self

import numpy as np
from tokenizers import Tokenizer

from cdesearch.encode.load import Device
from cdesearch.errors import IndexStateError, ModelError, NotIndexedError
from cdesearch.models.endpoint_model import Model
from cdesearch.search.confidence import BY_COSINE, BY_WORDS
from cdesearch.search.documents import Surroundings
from cdesearch.search.request import Searches, SearchRequest
from cdesearch.search.result import SearchResult, fold_copies
from cdesearch.search.searcher import ModelLoader, Searcher
from cdesearch.store.index import Index
from cdesearch.store.schema import Hit

LEAST_FOUND = 20  # hits of each index, because the copies of a hit in other indexes are near it


class Together(Searches):
    """Open indexes by name that are searched as one. Any number of threads may use it."""

    def __init__(self, members: Mapping[str, Searcher]) -> None:
        self.members = dict(members)

    @classmethod
    def open(cls, indexes: Mapping[str, Index], device: Device = "auto", model: Model | None = None) -> Self:
        """Search these indexes. Those of the same model share it; see `Searcher` for `device` and `model`."""
        models = ModelLoader(device, model)
        return cls({name: Searcher(index, models) for name, index in indexes.items()})

    @property
    def indexes(self) -> dict[str, Index]:
        """The newest open generation of each index."""
        return {name: member.index for name, member in self.members.items()}

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that measures texts: that of the first index."""
        return next(iter(self.members.values())).tokenizer

    def close(self) -> None:
        for member in self.members.values():
            member.close()

    def reload(self) -> bool:
        """Open newer generations as `Searcher.reload` does, and return whether there were any."""
        return sum(member.reload() for member in self.members.values()) > 0

    def _answers(self, requests: Sequence[SearchRequest]) -> list[SearchResult]:
        """For each request the best chunks of all indexes, best first, each with the name of its index.

        Files of different indexes with the same text are copies, as in one index. The score of a hit is what hits are
        merged by. If one index cannot be searched, its error is raised: the others alone are no answer.
        """
        return [self._search(request) for request in requests]

    def has_file(self, request: SearchRequest) -> bool:
        """Whether the filters of a request allow any file of any index."""
        return any(member.has_file(request) for member in self.members.values())

    def around(self, hit: Hit, count: int) -> Surroundings:
        """What `Searcher.around` returns for the index of a hit."""
        return self.members[hit.index or ""].around(hit, count)

    def _search(self, request: SearchRequest) -> SearchResult:
        started = time.perf_counter()
        unknown: list[NotIndexedError] = []
        asked = request.for_hits(request.k if len(self.members) == 1 else max(request.k, LEAST_FOUND))

        def find(name: str) -> SearchResult:
            try:
                result = self.members[name].search(asked)
            except NotIndexedError as error:  # the filter names a field that other indexes may have
                unknown.append(error)
                result = SearchResult((), generation=self.members[name].index.generation.name)
            except (IndexStateError, ModelError) as error:
                remedy = f"{error.remedy} This is the index {name}; the others can be searched without it."
                raise type(error)(error.cause, remedy) from None
            return replace(result, hits=tuple(_named(hit, name) for hit in result.hits))

        with ThreadPoolExecutor(len(self.members), thread_name_prefix="cdesearch-together") as threads:
            results = list(threads.map(find, self.members))
        if len(unknown) == len(self.members):
            raise unknown[0]
        hits = results[0].hits
        if len(results) > 1:
            complete = [result for result in results if result.is_complete]
            listed = (hit for result in results for hit in result.hits)
            if request.words:
                hits = _merged(complete or results, request)
            elif request.lists:
                hits = tuple(replace(hit, rank=rank) for rank, hit in enumerate(islice(listed, request.k), 1))
            else:
                hits = fold_copies(listed, request.k)
        found = dict(zip(self.members, results, strict=True))
        stages = {name: result.stage for name, result in found.items()}
        return SearchResult(
            hits,
            min((result.truncated_to for result in results if result.truncated_to), default=None),
            time.perf_counter() - started,
            " ".join(result.generation for result in results),
            "; ".join(f"{name}: {stage}" for name, stage in stages.items() if stage != "complete") or "complete",
            total=sum(result.total or 0 for result in results) if request.lists else None,
            searched=next((one.searched for name, one in found.items() if hits and hits[0].index == name), None),
            unknown_name=results[0].unknown_name if len({result.unknown_name for result in results}) == 1 else None,
            documents={
                (name, document): facts
                for name, result in found.items()
                for (_, document), facts in result.documents.items()
            },
        ).confident(request.min_confidence)


def _merged(results: Sequence[SearchResult], request: SearchRequest) -> tuple[Hit, ...]:
    """The best hits, without copies, by the log-odds of the confidence that each would have at the first rank.

    Hits of one index keep their order. The confidence of a merged hit is that at its rank among all.
    """
    weight = (BY_WORDS if request.mode == "text" else BY_COSINE).rank
    found: list[Hit] = []  # each with its confidence at the first rank, and the least log-odds so far in its index
    for result in results:
        least = float("inf")
        for hit in result.hits:
            odds = _log_odds(hit.confidence or 0.0) - weight * float(np.log(hit.rank))
            least = min(least, odds)
            found.append(replace(hit, score=least, confidence=_chance(odds)))
    best = fold_copies(sorted(found, key=lambda hit: -hit.score), request.k)
    return tuple(
        replace(hit, confidence=_chance(_log_odds(hit.confidence or 0.0) + weight * float(np.log(hit.rank))))
        for hit in best
    )


def _named(hit: Hit, index: str) -> Hit:
    return replace(hit, index=index, copies=tuple(_named(copy, index) for copy in hit.copies))


def _log_odds(chance: float) -> float:
    chance = min(max(chance, 1e-9), 1 - 1e-9)
    return float(np.log(chance / (1 - chance)))


def _chance(odds: float) -> float:
    return float(1 / (1 + np.exp(-odds)))
