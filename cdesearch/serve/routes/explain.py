"""`GET /api/v1/explain` explains why a chunk is a hit of a query."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from cdesearch.serve.routes.parameters import MAX_K, MAX_OFFSET, IndexName, QueryText, Scope
from cdesearch.serve.state import state_of

router = APIRouter(tags=["search"])


@router.get("/explain")
async def explain(
    request: Request,
    q: QueryText,
    chunk: Annotated[str, Query(description="The id of the chunk, which each hit contains.", max_length=200)],
    scope: Scope,
    k: Annotated[int, Query(ge=1, le=MAX_K + MAX_OFFSET, description="The sum of k and offset of the search.")] = 10,
    index: IndexName = None,
) -> JSONResponse:
    """Return the evidence of the vectors and of the words, as numbers that add up to the score of the hit.

    The parameters must be those of the search that found the chunk. Of a search of several indexes, the evidence in the
    index of the hit is explained, without the others.
    """
    state = state_of(request)
    served = state.indexes[index]
    explained = await state.admission.run(lambda: served.explain(chunk, scope.request(q, k)))
    return JSONResponse({"query": q, "index": served.name, **asdict(explained)})
