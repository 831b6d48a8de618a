"""What routes get from a request: the server that received it, and the parameters that several have in common."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Query, Request

from cdesearch.search.options import FILTERS, with_options
from cdesearch.search.request import SearchRequest, request_of
from cdesearch.serve.admission import Admission
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.options import parameters_of
from cdesearch.serve.updates import UpdateRuns

MAX_OFFSET = 1_000
MAX_QUERY = 4_000  # characters


@dataclass(frozen=True, slots=True)
class ServerState:
    """The indexes of a running server, and what runs its searches, makes its pictures and updates."""

    indexes: ServedIndexes
    admission: Admission
    drawing: Admission
    updates: UpdateRuns


def _state_of(request: Request) -> ServerState:
    state: ServerState = request.app.state.server
    return state


State = Annotated[ServerState, Depends(_state_of)]
QueryText = Annotated[str, Query(description="What to search for.", max_length=MAX_QUERY)]
IndexName = Annotated[str | None, Query(alias="index", description="The name of an index. Default: the first one.")]
AnyIndexName = Annotated[str | None, Query(alias="index", description="The name of an index. Default: all indexes.")]
IndexNames = Annotated[
    list[str] | None,
    Query(
        alias="index",
        description="The name of an index. Repeat it to search several as one. Default: all indexes.",
        max_length=100,
    ),
]


def _asked(q: QueryText = "", **given: Any) -> SearchRequest:
    return request_of(q, **given)


def _question(q: QueryText, **given: Any) -> SearchRequest:
    return request_of(q, **given)


Asked = Annotated[SearchRequest, Depends(with_options(_asked, parameters_of(Query, repeats=True)))]
Question = Annotated[
    SearchRequest, Depends(with_options(_question, parameters_of(Query, repeats=True, options=FILTERS)))
]
