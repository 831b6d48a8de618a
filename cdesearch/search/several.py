"""Search several indexes as one: their candidates are ranked together, as if they were those of one index.

Each index encodes the query in its own context. The whitening of the context makes cosines of indexes of one model
comparable. Cosines of different models become deviations from the cosines between the chunks of each context. BM25
scores get the weights that the words of the query have in all indexes together. benchmarks/results/LOG.md compares
other rules.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Self

from cdesearch.encode.load import Device
from cdesearch.errors import IndexDamagedError, IndexStateError, ModelError, QueryError
from cdesearch.models.endpoint_model import Model
from cdesearch.search.common_rarity import Counted, comparable, count_words
from cdesearch.search.confidence import with_confidence
from cdesearch.search.model_loader import ModelLoader
from cdesearch.search.pooling import Part, Pool, pool
from cdesearch.search.query_vectors import QueryVectors
from cdesearch.search.reader import Mode, Query
from cdesearch.search.reranking import RERANKED, Compared, compared, reranked
from cdesearch.search.result import SearchResult
from cdesearch.search.searcher import PathFilter, Searcher, check_query, filter_of
from cdesearch.store.index import Index
from cdesearch.store.schema import Hit

# One for all indexes, or one for each index that is searched, by its name
PathFilters = PathFilter | Mapping[str, PathFilter]
LEAST_READ = 20  # candidates whose texts are read at first: the copies of a hit are near it


class SeveralSearcher:
    """Open indexes by name that are searched as one. Any number of threads may use it."""

    def __init__(self, searchers: Mapping[str, Searcher]) -> None:
        self.searchers = dict(searchers)
        self._executor = ThreadPoolExecutor(max(1, 4 * len(self.searchers)), thread_name_prefix="cdesearch-several")

    @classmethod
    def open(cls, indexes: Mapping[str, Index], device: Device = "auto", model: Model | None = None) -> Self:
        """Search these indexes. Those of the same model share it; see `Searcher` for `device` and `model`."""
        models = ModelLoader(device, model)
        return cls({name: Searcher(index, models) for name, index in indexes.items()})

    @property
    def indexes(self) -> dict[str, Index]:
        """The newest open generation of each index."""
        return {name: searcher.index for name, searcher in self.searchers.items()}

    def close(self) -> None:
        """Wait for the running searches, and end the threads, also those of the indexes."""
        self.end_threads()
        for searcher in self.searchers.values():
            searcher.close()

    def end_threads(self) -> None:
        """Wait for the running searches, and end the threads, but not those of the indexes."""
        self._executor.shutdown()

    def reload(self) -> bool:
        """Open newer generations as `Searcher.reload` does, and return whether there were any."""
        return sum(searcher.reload() for searcher in self.searchers.values()) > 0

    def search(self, query: str, k: int = 10, mode: Mode = "hybrid", path: PathFilters = None) -> SearchResult:
        """Return the `k` best chunks of all indexes, best first, each with the name of its index.

        Chunks of different indexes with the same text are one hit, and its `copies` are the others. Raises what
        `Searcher.search` raises: if one index cannot be searched, the others alone are no answer.
        """
        started = time.perf_counter()
        filters = self._each(path)
        for one in filters.values():
            check_query(query, k, mode, one)
        depth = max(k, RERANKED) if mode == "rerank" else k
        asked = {name: Query(query, depth, mode, filter_of(one)) for name, one in filters.items()}
        while True:  # each iteration uses a newer generation
            try:
                found = self._answer(asked, k)
            except IndexDamagedError:
                if not self.reload():
                    raise
            else:
                return replace(found, seconds=time.perf_counter() - started)

    def search_many(
        self, queries: Sequence[str], k: int = 10, mode: Mode = "hybrid", path: PathFilters = None
    ) -> list[SearchResult]:
        """Return for each query what `search` returns."""
        return [self.search(query, k, mode, path) for query in queries]

    def has_file(self, path: PathFilters) -> bool:
        """Return whether `path` allows any indexed file; raises QueryError and IndexStateError."""
        return any(self.searchers[name].has_file(one) for name, one in self._each(path).items())

    def _each(self, path: PathFilters) -> dict[str, PathFilter]:
        return dict(path) if isinstance(path, Mapping) else dict.fromkeys(self.searchers, path)

    def _answer(self, asked: Mapping[str, Query], k: int) -> SearchResult:
        for name in asked:
            self.searchers[name].check_usable()
        query, vectors = next(iter(asked.values())), QueryVectors()
        futures = {name: self._executor.submit(self.searchers[name].gather, asked[name], vectors) for name in asked}
        parts = []
        for name, future in futures.items():
            with _naming(name):
                parts.append(Part(name, *future.result()))
        if query.mode != "dense" and len(parts) > 1:
            parts = self._comparable(parts, query.text)
        pooled = pool(parts, query.mode)
        hits = _without_copies(pooled, query.k)
        if query.mode == "rerank":
            hits = [*_reranked(query.text, hits[:RERANKED], parts), *hits[RERANKED:]]
        ranked = [replace(hit, rank=rank) for rank, hit in enumerate(hits[:k], start=1)]
        return SearchResult(
            _judged(query, ranked, parts, pooled.noise),
            min((part.gathered.truncated_to for part in parts if part.gathered.truncated_to), default=None),
            generation=" ".join(part.reader.index.generation.name for part in parts),
            stage=_stage({part.name: part.reader.index.manifest.stage for part in parts}),
        )

    def _comparable(self, parts: Sequence[Part], query: str) -> list[Part]:
        """Return the parts with BM25 scores that can be compared; raises IndexDamagedError."""

        def count(part: Part) -> Counted:
            with _naming(part.name):
                return count_words(part.reader.index, query, part.gathered.rows, part.gathered.evidence)

        counted = list(self._executor.map(count, parts))
        texts = comparable([part.gathered.candidates.text for part in parts], counted)
        return [part.with_text(text) for part, text in zip(parts, texts, strict=True)]


def _without_copies(pooled: Pool, k: int) -> list[Hit]:
    """Return the `k` best hits. A hit whose text a better hit of another index has is one of the copies of that hit."""
    at_once = max(LEAST_READ, 2 * k)
    kept: dict[str, Hit] = {}  # by the text, and for further hits of the same text and index by the chunk
    for number, hit in enumerate(pooled.hits(at_once)):
        if len(kept) >= k and number % at_once == 0:
            break
        text = hit.chunk.content_hash
        better = kept.get(text)
        if better is None:
            if len(kept) < k:
                kept[text] = hit
        elif better.index != hit.index:
            kept[text] = replace(better, copies=(*better.copies, hit))
        elif len(kept) < k:
            kept[f"{text} {hit.chunk.id}"] = hit
    return list(kept.values())


def _reranked(query: str, hits: Sequence[Hit], parts: Sequence[Part]) -> tuple[Hit, ...]:
    """Return the hits ranked by late interaction, each compared in the context of its index; raises QueryError."""
    if len({part.reader.index.manifest.model_fingerprint for part in parts}) > 1:
        raise QueryError("The mode rerank needs indexes of the same model.", "Use the mode hybrid.")
    if any(part.reader.index.manifest.n_vectors == 0 for part in parts):  # the first stage of a build
        return tuple(hits)
    places: dict[str, Compared] = {}
    for part in parts:
        own = [hit for hit in hits if hit.index == part.name]
        context = part.reader.index.context_for(part.reader.encoder)
        found = compared(query, own, part.reader.encoder, context)
        places |= {f"{part.name} {one.hit.chunk.id}": one for one in found}
    return reranked([places[f"{hit.index} {hit.chunk.id}"] for hit in hits])


def _judged(query: Query, hits: Sequence[Hit], parts: Sequence[Part], noise: float) -> tuple[Hit, ...]:
    """Return the hits with their confidences, each by the scale of its index and by its rank among all hits."""
    judged = [
        hit
        for part in parts
        for hit in with_confidence(
            query.text,
            [hit for hit in hits if hit.index == part.name],
            None if query.mode == "text" else part.reader.scale,
            noise,
        )
    ]
    return tuple(sorted(judged, key=lambda hit: hit.rank))


def _stage(stages: Mapping[str, str]) -> str:
    """Return the stages of the indexes that are not complete, with their names; "complete" if all are."""
    return "; ".join(f"{name}: {stage}" for name, stage in stages.items() if stage != "complete") or "complete"


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Add the name of the index to an error, which may be one of several."""
    try:
        yield
    except (IndexStateError, ModelError) as error:
        remedy = f"{error.remedy} This is the index {name}; the others can be searched without it."
        raise type(error)(error.cause, remedy) from None
