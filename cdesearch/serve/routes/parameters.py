"""The query parameters that several routes have in common, with their limits and descriptions."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query

from cdesearch.search.options import Mode
from cdesearch.search.request import SearchRequest
from cdesearch.serve.indexes import ALL

MAX_K = 100
MAX_OFFSET = 1_000
MAX_QUERY = 4_000  # characters

QueryText = Annotated[str, Query(description="What to search for.", max_length=MAX_QUERY)]
NumberOfHits = Annotated[int, Query(ge=1, le=MAX_K, description="How many hits to return.")]
PathGlobs = Annotated[
    list[str] | None,
    Query(description="Search only files that match this glob. Repeat it to allow several globs.", max_length=100),
]
Suffixes = Annotated[
    list[Annotated[str, Query(pattern=r"^\.?\w{1,20}$")]] | None,
    Query(
        alias="type",
        description="Search only files of this type, such as py, or .py for this suffix. Repeat it to allow several.",
        max_length=100,
    ),
]
MinConfidence = Annotated[
    float,
    Query(ge=0, le=1, description="Leave out hits whose confidence, the probability that they are relevant, is lower."),
]
IndexName = Annotated[str | None, Query(alias="index", description="The name of an index. Default: the first one.")]
MAX_INDEXES = 100
IndexNames = Annotated[
    list[str] | None,
    Query(
        alias="index",
        description=f"The name of an index. Repeat it to search several as one; {ALL} stands for all."
        " Default: the first one.",
        max_length=MAX_INDEXES,
    ),
]


@dataclass(frozen=True, slots=True)
class SearchScope:
    """How a search ranks, and which files it covers."""

    mode: Annotated[Mode, Query(description="The ranking method.")] = "hybrid"
    path: PathGlobs = None
    suffix: Suffixes = None
    since: Annotated[
        str | None,
        Query(
            description="Search only files that were modified since then: an age such as 12h or 7d, or a date such as"
            " 2026-11-01.",
            max_length=40,
        ),
    ] = None

    def request(self, query: str, k: int) -> SearchRequest:
        """Return the request for `k` hits; raises QueryError."""
        return SearchRequest(query, k, self.mode, tuple(self.path or ()), tuple(self.suffix or ()), self.since)


Scope = Annotated[SearchScope, Depends()]
