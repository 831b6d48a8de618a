"""`GET /api/v1/search` returns the hits of a query."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from cdesearch.cli.hits.passage_lines import best_line, query_words, shown_lines
from cdesearch.cli.hits.render import location_of, result_as_json
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
        passage = shown_lines(hit, query_words(query), full=False)
        shown["location"] = location_of(hit.chunk, passage, best_line(passage, query_words(query)).row)
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
