"""What routes get from a request: the server that received it, and the parameters that several have in common."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query, Request

from cdesearch.search.file_filter import FileFilter, time_of
from cdesearch.search.reader import Mode
from cdesearch.serve.admission import Admission
from cdesearch.serve.indexes import ALL, ServedIndexes
from cdesearch.serve.updates import UpdateRuns

MAX_K = 100
MAX_OFFSET = 1_000
MAX_QUERY = 4_000  # characters


@dataclass(frozen=True, slots=True)
class ServerState:
    """The indexes of a running server, and what runs its searches and updates."""

    indexes: ServedIndexes
    admission: Admission
    updates: UpdateRuns


def _state_of(request: Request) -> ServerState:
    state: ServerState = request.app.state.server
    return state


State = Annotated[ServerState, Depends(_state_of)]
QueryText = Annotated[str, Query(description="What to search for.", max_length=MAX_QUERY)]
NumberOfHits = Annotated[int, Query(ge=1, le=MAX_K, description="How many hits to return.")]
PathGlobs = Annotated[
    list[str] | None,
    Query(description="Search only files that match this glob. Repeat it to allow several globs.", max_length=100),
]
Suffixes = Annotated[
    list[Annotated[str, Query(pattern=r"^\w{1,20}$")]] | None,
    Query(
        alias="type",
        description="Search only files whose name ends with a dot and this, e.g. py. Repeat it to allow several.",
        max_length=100,
    ),
]
MinConfidence = Annotated[
    float,
    Query(ge=0, le=1, description="Leave out hits whose confidence, the probability that they are relevant, is lower."),
]
IndexName = Annotated[str | None, Query(alias="index", description="The name of an index. Default: the first one.")]
IndexNames = Annotated[
    list[str] | None,
    Query(
        alias="index",
        description=f"The name of an index. Repeat it to search several as one; {ALL} stands for all."
        " Default: the first one.",
        max_length=100,
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

    @property
    def files(self) -> FileFilter:
        """Which files the search covers; raises QueryError."""
        return FileFilter(
            None if self.path is None else tuple(self.path),
            None if self.suffix is None else tuple(self.suffix),
            None if self.since is None else time_of(self.since),
        )


Scope = Annotated[SearchScope, Depends()]
