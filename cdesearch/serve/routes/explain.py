"""`GET /api/v1/explain`: why a chunk is a hit of a query."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from cdesearch.search.reader import Mode
from cdesearch.serve.routes.search import MAX_K, MAX_OFFSET, IndexName, PathGlobs, QueryText, Suffix, globs_of
from cdesearch.serve.state import state_of

router = APIRouter(tags=["search"])


@router.get("/explain")
async def explain(
    request: Request,
    q: QueryText,
    chunk: Annotated[str, Query(description="The id of the chunk, as a hit shows it.", max_length=200)],
    k: Annotated[int, Query(ge=1, le=MAX_K + MAX_OFFSET, description="k plus offset of the search.")] = 10,
    mode: Annotated[Mode, Query(description="Ranking method of the search.")] = "hybrid",
    path: PathGlobs = None,
    suffix: Suffix = None,
    index: IndexName = None,
) -> JSONResponse:
    """The evidence of the vectors and of the words, as numbers that add up to the score of the search."""
    state = state_of(request)
    served = state.indexes[index]
    paths = globs_of(path, suffix)
    explained = await state.admission.run(lambda: served.explain(chunk, q, k, mode, paths))
    return JSONResponse({"query": q, "index": served.name, **asdict(explained)})
