"""One request for a search, whether it comes from the command line, a server's client, an agent or a program."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack, get_args

from cdesearch.errors import QueryError
from cdesearch.search.field_filter import conditions_of
from cdesearch.search.file_filter import FileFilter, suffixes_of
from cdesearch.search.options import Mode
from cdesearch.search.path_filter import globs_of_typed
from cdesearch.search.query_syntax import Query, parse_query
from cdesearch.search.result import SearchResult
from cdesearch.search.text_time import time_of
from cdesearch.words.characters import normal

if TYPE_CHECKING:
    from cdesearch.store.index import Index


Globs = str | Sequence[str] | None  # as a program may name them
K = 10  # hits, unless the caller asks for another number


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to search for, in which files, and how. Raises QueryError for a value that no search accepts."""

    text: str  # as it was typed, with the operators of `query_syntax`; without words, files are listed by path
    k: int = K
    mode: Mode = "hybrid"
    path: tuple[str, ...] = ()  # globs of which the path of a file must match one; none allows every path
    type: tuple[str, ...] = ()  # types of files, such as "py", or suffixes with their dot; none allows every type
    since: str | None = None  # only texts from then or later: an age or a date
    before: str | None = None  # only texts from before then
    filter: str | None = None  # only texts of which these conditions on fields hold
    min_confidence: float = 0.0  # hits with a lower confidence are left out
    regex: str | None = None  # a regular expression that every hit matches; without words, hits are in order of path
    facets: bool = False  # whether the result has the facts of the candidates' documents, by which facets are counted
    is_typed: bool = False  # whether `path` may also be absolute, or relative to the working directory

    def __post_init__(self) -> None:
        _check_kind("query", self.text, str, "a text", 'query="docs"')
        _check_kind("k", self.k, Integral, "a whole number", "k=10")
        _check_kind("min_confidence", self.min_confidence, Real, "a number", "min_confidence=0.3")
        for name, example in (("since", "7d"), ("before", "2026-01-01"), ("filter", "a=b"), ("regex", "v[0-9]+")):
            _check_kind(name, getattr(self, name), str | None, "a text", f'{name}="{example}"')
        for name, values in (("path", self.path), ("type", self.type)):
            for value in values if isinstance(values, tuple) else (values,):
                _check_kind(name, value, str, "a text", f'{name}="docs"')
        object.__setattr__(self, "text", normal(self.text))  # as the texts of an index
        if self.regex == "":
            raise QueryError("The pattern is empty.", "Omit it to search for words alone.")
        if self.regex is None and not self.words.strip().strip('"“”').strip() and self.lists is None:
            if self.query.excluded:
                raise QueryError(
                    "The query names only what to leave out.",
                    f'Add words to search for, or write "{self.text.strip():.40}" in quotation marks.',
                )
            raise QueryError("The query is empty.", "Type some words.")
        if any(0xD800 <= ord(one) <= 0xDFFF for one in self.text):  # surrogates stand for bytes that are not UTF-8
            raise QueryError("The query is not valid Unicode.", "Encode it in UTF-8.")
        if self.k < 1:
            raise QueryError(f"{self.k} is not a number of hits.", "Ask for at least one.")
        if self.mode not in get_args(Mode):
            raise QueryError(f"There is no mode {self.mode}.", f"Use one of {', '.join(get_args(Mode))}.")
        if not 0 <= self.min_confidence <= 1:
            raise QueryError(f"{self.min_confidence} is not a confidence.", "Give a number from 0 to 1, such as 0.3.")
        suffixes_of((*self.query.type, *self.query.excluded_type))
        self._restrictions()

    @property
    def query(self) -> Query:
        """The text without its operators, and what they mean."""
        return parse_query(self.text)

    @property
    def words(self) -> str:
        """The words to search for: the text without its operators."""
        return self.query.words

    @property
    def lists(self) -> Literal["path", "document"] | None:
        """What is listed because there is nothing to search for: the files, or documents with certain fields."""
        if self.regex is not None or self.words or self.query.excluded or not self.has_filter:
            return None
        return "path" if self.filter is None else "document"

    @property
    def has_filter(self) -> bool:
        """Whether the request restricts the files."""
        return bool(self.path or self.query.filters or self._restrictions())

    def _restrictions(self) -> dict[str, Any]:
        """What its options restrict besides the paths, as fields of `FileFilter`; raises QueryError."""
        types = {"suffixes": suffixes_of(self.type)} if self.type else {}
        times = {name: time_of(text) for name in ("since", "before") if (text := getattr(self, name)) is not None}
        return types | times | ({} if self.filter is None else {"fields": conditions_of(self.filter)})

    def files_of(self, index: "Index") -> tuple[FileFilter, ...]:
        """The filters of which the files that the search covers pass each; raises QueryError."""
        asked = self.query
        filters = (
            FileFilter(self.globs_of(self.path, index), **self._restrictions()),
            FileFilter(self.globs_of(asked.path, index), suffixes_of(asked.type) or None),
            FileFilter(self.globs_of(asked.excluded_path, index), is_excluding=True),
            FileFilter(None, suffixes_of(asked.excluded_type) or None, is_excluding=True),
        )
        return tuple(one for one in filters if not one.is_empty)

    def globs_of(self, path: tuple[str, ...], index: "Index") -> tuple[str, ...] | None:
        """What globs of this request mean in an index; None if there are none. Raises QueryError."""
        globs = globs_of_typed(path, index) if self.is_typed else path
        return globs if path else None

    def for_hits(self, k: int) -> "SearchRequest":
        """This request for `k` hits of any confidence."""
        return replace(self, k=k, min_confidence=0.0)


class Filters(TypedDict, total=False):
    """The fields of a request that a program names, besides its text and the arguments before them."""

    type: str | Sequence[str] | None
    since: str | None
    before: str | None
    filter: str | None
    min_confidence: float
    regex: str | None


def request_of(
    query: str | SearchRequest, k: int = K, mode: Mode = "hybrid", path: Globs = None, **filters: Unpack[Filters]
) -> SearchRequest:
    """A request as it is, or that of the arguments."""
    if isinstance(query, SearchRequest):
        return query
    given: dict[str, Any] = {"path": path, **filters}
    for name in given.keys() & {"path", "type"}:
        value = given[name]
        given[name] = () if value is None else tuple(value) if isinstance(value, list | tuple) else (value,)
    return SearchRequest(query, k, mode, **given)


class Searches(ABC):
    """Open indexes that are searched for requests, or for what the arguments of a request mean."""

    def search(
        self,
        query: str | SearchRequest,
        k: int = K,
        mode: Mode = "hybrid",
        path: Globs = None,
        **filters: Unpack[Filters],
    ) -> SearchResult:
        """The `k` best chunks, best first, as a sequence of hits.

        `mode` is the ranking method: "hybrid", "dense" (vectors only), or "text" (words only). With `path`, only files
        that match this glob, or one of several, are searched. A glob is relative to the indexed folder, like
        `chunk.path`. `type` is a type of files such as "md", or several; `since` and `before` are ages or dates, and
        `filter` has conditions on fields, such as "status=open and date>=2026-01-01". `regex` is a regular expression
        that each hit matches. Without words, hits are in the order of their paths and lines: all that match `regex`, or
        else the first chunk of each file that passes the filters. Hits whose
        `confidence`, the estimated probability that they are relevant, is lower than `min_confidence` are left out. The
        operators in a query, such as `-word` and `path:src/`, are those of `query_syntax`. Raises QueryError for an
        invalid argument, and IndexStateError for an index that cannot be used.
        """
        return self.search_many([query], k, mode, path, **filters)[0]

    def search_many(
        self,
        queries: Sequence[str | SearchRequest],
        k: int = K,
        mode: Mode = "hybrid",
        path: Globs = None,
        **filters: Unpack[Filters],
    ) -> list[SearchResult]:
        """For each query what `search` returns, in less time than with a call for each.

        All queries are answered from one generation. With the default model the results are exactly the same; with
        models that are not quantised, scores may differ by rounding. Raises what `search` raises.
        """
        if isinstance(queries, str):
            raise QueryError("queries must be a list of texts, not a text.", 'For example: queries=["docs"].')
        return self._answers([request_of(query, k, mode, path, **filters) for query in queries])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Wait for the running searches, and end the threads that run them. Later calls raise QueryError."""

    @abstractmethod
    def _answers(self, requests: Sequence[SearchRequest]) -> list[SearchResult]:
        """The result of each request; raises what `search` raises."""


def _check_kind(name: str, value: object, kind: Any, wanted: str, example: str) -> None:
    if not isinstance(value, kind):
        given = "a text" if isinstance(value, str) else type(value).__name__
        raise QueryError(f"{name} must be {wanted}, not {given}.", f"For example: {example}.")
