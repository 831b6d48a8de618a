"""`GET /api/v1/search` returns the hits of a query."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from cdesearch.cli.hits.passage_lines import best_row, query_words
from cdesearch.cli.hits.render import result_as_json
from cdesearch.search.result import SearchResult
from cdesearch.serve.indexes import ServedIndex
from cdesearch.serve.routes.parameters import MAX_OFFSET, MinConfidence, NumberOfHits, QueryText, Scope
from cdesearch.serve.routes.places import places_as_json
from cdesearch.serve.state import state_of

router = APIRouter(tags=["search"])


@router.get("/search")
async def search(
    request: Request,
    q: QueryText,
    scope: Scope,
    k: NumberOfHits = 10,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET, description="How many of the best hits to skip.")] = 0,
    min_confidence: MinConfidence = 0.0,
) -> JSONResponse:
    """Return the chunks that match the query best, best first."""
    state = state_of(request)
    served = state.indexes[scope.index]
    result = await state.admission.run(lambda: served.search(q, offset + k, scope.mode, scope.files))
    values = _answer(served, q, scope.mode, offset, k, result)
    values["hits"] = [hit for hit in values["hits"] if hit["confidence"] is None or hit["confidence"] >= min_confidence]
    values["answered"] = result.confident(min_confidence).seems_answered
    return JSONResponse(values)


def _answer(served: ServedIndex, query: str, mode: str, offset: int, k: int, result: SearchResult) -> dict[str, Any]:
    values = result_as_json(query, mode, result)
    for shown, hit in zip(values["hits"], result.hits, strict=True):
        shown["chunk"] = hit.chunk.id
        shown["location"] = hit.chunk.location_at(best_row(hit, query_words(query)))
        shown["places"] = places_as_json(hit.chunk)
        shown["passage_line"] = hit.passage_line
    return {
        "query": query,
        "mode": mode,
        "index": served.name,
        "generation": result.generation,
        "stage": result.stage,
        "milliseconds": values["milliseconds"],
        "truncated_to": result.truncated_to,
        "offset": offset,
        "more": len(result.hits) == offset + k < served.index.manifest.n_chunks,
        "hits": values["hits"][offset:],
    }
