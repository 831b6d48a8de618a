"""Open indexes that answer queries: what one index and several have in common, and several that are searched as one."""

from asyncio import wrap_future
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Self

from cdesearch.errors import QueryError
from cdesearch.search.reader import Mode
from cdesearch.search.result import SearchResult
from cdesearch.search.searcher import Searcher
from cdesearch.search.several import SeveralSearcher
from cdesearch.store.index import Index

ASYNCHRONOUS = 4  # searches of `asearch` that run at the same time; the others wait


class Searchable:
    """Something that is open for searching, with threads for asynchronous searches."""

    def __init__(self, searched: Searcher | SeveralSearcher) -> None:
        self._searched = searched
        self._threads = ThreadPoolExecutor(ASYNCHRONOUS, thread_name_prefix="cdesearch-async")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the running searches, and end the threads that run them. Later calls raise QueryError."""
        self._threads.shutdown()
        self._searched.close()

    def search(
        self, query: str, k: int = 10, mode: Mode = "hybrid", path: str | None = None, min_confidence: float = 0.0
    ) -> SearchResult:
        """Return the `k` best chunks, best first, as a sequence of hits.

        `mode` is the ranking method: "hybrid", "dense" (vectors only), "text" (BM25 only), or "rerank": hybrid, and
        then the best 20 hits are compared with the query word by word. With `path`, only files that match this glob
        are searched. The glob is relative to the indexed folder, like `chunk.path`. Hits whose `confidence`, the
        estimated probability that they are relevant, is lower than `min_confidence` are left out. Raises QueryError for
        an invalid argument, and IndexStateError for an index that cannot be used.
        """
        _check_confidence(min_confidence)
        self._bring_up_to_date()
        return self._searched.search(query, k, mode, path).confident(min_confidence)

    def search_many(
        self,
        queries: Sequence[str],
        k: int = 10,
        mode: Mode = "hybrid",
        path: str | None = None,
        min_confidence: float = 0.0,
    ) -> list[SearchResult]:
        """Return for each query what `search` returns, in less time than with a call for each.

        All queries are answered from one generation. With the default model the results are exactly the same; with
        models that are not quantised, scores may differ by rounding. Raises what `search` raises.
        """
        if isinstance(queries, str):
            raise QueryError("queries must be a list of texts, not a text.", 'For example: queries=["docs"].')
        _check_confidence(min_confidence)
        self._bring_up_to_date()
        results = self._searched.search_many(list(queries), k, mode, path)
        return [result.confident(min_confidence) for result in results]

    async def asearch(
        self, query: str, k: int = 10, mode: Mode = "hybrid", path: str | None = None, min_confidence: float = 0.0
    ) -> SearchResult:
        """Return what `search` returns, without blocking the event loop: the search runs in a thread.

        A search that is cancelled before it starts is not run. One that is running ends in its thread, and its result
        is dropped. Raises what `search` raises.
        """
        try:
            later = self._threads.submit(self.search, query, k, mode, path, min_confidence)
        except RuntimeError:  # the threads have ended
            raise QueryError("This index has been closed.", "Open it again.") from None
        return await wrap_future(later)

    def _bring_up_to_date(self) -> None:
        self._searched.reload()


class OpenIndexes(Searchable):
    """Several indexes that are searched as one. Close them with `close`, or use them in a `with` block.

    The attribute `index` of each hit is the name of its index, and `copies` are the hits of other indexes with the same
    text. `path` is relative to the indexed folder of each index. If one of the indexes cannot be searched, the call
    raises its error. Threads and newer generations are as for `OpenIndex`.
    """

    def __init__(self, searcher: SeveralSearcher) -> None:
        super().__init__(searcher)
        self._several = searcher

    @property
    def indexes(self) -> Mapping[str, Index]:
        """The newest open generation of each index, by name."""
        return MappingProxyType(self._several.indexes)


def _check_confidence(value: float) -> None:
    if not 0 <= value <= 1:
        raise QueryError(f"{value} is not a confidence.", "Give a number from 0 to 1, such as 0.3.")
