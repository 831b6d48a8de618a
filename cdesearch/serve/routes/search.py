"""`GET /api/v1/search` returns the hits of a query."""

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from cdesearch.cli.hits.passage_lines import best_row, query_words
from cdesearch.cli.hits.render import hit_as_json, result_as_json
from cdesearch.search.result import SearchResult
from cdesearch.serve.indexes import ServedIndex, ServedTogether
from cdesearch.serve.routes.parameters import MAX_OFFSET, IndexNames, MinConfidence, NumberOfHits, QueryText, Scope
from cdesearch.serve.routes.places import places_as_json
from cdesearch.serve.state import state_of
from cdesearch.store.schema import Hit

router = APIRouter(tags=["search"])


@router.get("/search")
async def search(
    request: Request,
    q: QueryText,
    scope: Scope,
    k: NumberOfHits = 10,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET, description="How many of the best hits to skip.")] = 0,
    min_confidence: MinConfidence = 0.0,
    index: IndexNames = None,
) -> JSONResponse:
    """Return the chunks that match the query best, best first.

    Several indexes are searched as one. Each hit then has the name of its `index`, and `copies` with the places of the
    same text in the others.
    """
    state = state_of(request)
    served = state.indexes.together(index or ())
    result = await state.admission.run(lambda: served.search(scope.request(q, offset + k)))
    values = _answer(served, q, scope.mode, offset, k, result)
    values["hits"] = [hit for hit in values["hits"] if hit["confidence"] is None or hit["confidence"] >= min_confidence]
    values["answered"] = result.confident(min_confidence).seems_answered
    return JSONResponse(values)


def _answer(
    served: ServedIndex | ServedTogether, query: str, mode: str, offset: int, k: int, result: SearchResult
) -> dict[str, Any]:
    def root_of(hit: Hit) -> Path:
        return served.of(hit).index.root

    values = result_as_json(query, mode, result, root_of)
    for shown, hit in zip(values["hits"], result.hits, strict=True):
        shown.update(_places(hit, query))
        if hit.index is not None:
            shown["copies"] = [hit_as_json(copy, query, root_of) | _places(copy, query) for copy in hit.copies]
    most = sum(member.index.manifest.n_chunks for member in served.members)
    return {
        "query": query,
        "mode": mode,
        "index": served.name,
        "generation": result.generation,
        "stage": result.stage,
        "milliseconds": values["milliseconds"],
        "truncated_to": result.truncated_to,
        "offset": offset,
        "more": len(result.hits) == offset + k < most,
        "hits": values["hits"][offset:],
    }


def _places(hit: Hit, query: str) -> dict[str, Any]:
    """Return the id of a hit, the place of its passage, and what clients need to find the places of other lines."""
    return {
        "chunk": hit.chunk.id,
        "location": hit.chunk.location_at(best_row(hit, query_words(query))),
        "places": places_as_json(hit.chunk),
        "passage_line": hit.passage_line,
    }
