"""`GET /api/v1/map` returns the chunks as points in a plane, and the positions of the hits of a query."""

from threading import Lock
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from cdesearch.search.context_map import ContextMap
from cdesearch.serve.indexes import ServedIndex
from cdesearch.serve.routes.parameters import MAX_QUERY, IndexName, NumberOfHits, Scope, SearchScope
from cdesearch.serve.state import state_of
from cdesearch.store.index import Index

DIGITS = 4  # decimal places of coordinates

router = APIRouter(tags=["map"])
_maps: WeakKeyDictionary[Index, ContextMap] = WeakKeyDictionary()  # one map for each generation that is open
_lock = Lock()


@router.get("/map")
async def context_map(
    request: Request,
    scope: Scope,
    q: Annotated[str | None, Query(description="Also locate the hits of this query.", max_length=MAX_QUERY)] = None,
    k: NumberOfHits = 10,
    points: Annotated[bool, Query(description="False omits the points, which are the same for every query.")] = True,
    index: IndexName = None,
) -> JSONResponse:
    """Return the first two principal components of the chunks' vectors.

    A large corpus is represented by about 5,000 chunks and all chunks of its context.
    """
    state = state_of(request)
    served = state.indexes[index]
    found, hits = await state.admission.run(lambda: _map_and_hits(served, q, k, scope))
    content: dict[str, Any] = {"index": served.name, "query": q, "hits": hits, **_described(found)}
    return JSONResponse(content | ({"points": _points(found)} if points else {}))


def _map_and_hits(
    served: ServedIndex, query: str | None, k: int, scope: SearchScope
) -> tuple[ContextMap, list[dict[str, Any]]]:
    hits = served.search(query, k, scope.mode, scope.files).hits if query else ()

    def located(index: Index) -> tuple[ContextMap, list[dict[str, Any]]]:
        found = _map_of(index)
        places = found.locate(index, [hit.chunk.id for hit in hits])
        return found, [
            {
                "chunk": hit.chunk.id,
                "document": hit.chunk.document_id,
                "location": hit.chunk.location,
                "rank": hit.rank,
                "x": round(places[hit.chunk.id][0], DIGITS),
                "y": round(places[hit.chunk.id][1], DIGITS),
            }
            for hit in hits
            if hit.chunk.id in places  # an update may have replaced the chunk since the search
        ]

    return served.read(located)


def _map_of(index: Index) -> ContextMap:
    with _lock:
        if index not in _maps:
            _maps[index] = ContextMap.of(index)
        return _maps[index]


def _described(found: ContextMap) -> dict[str, Any]:
    drift = found.drift
    return {
        "chunks": found.n_chunks,
        "shown": len(found.chunks),
        "context": int(found.is_context.sum()),
        "explained": [round(share, DIGITS) for share in found.projection.explained],
        "folders": [{"name": folder.name, "points": folder.points} for folder in found.folders],
        "drift": {
            "text": str(drift),
            "level": drift.level,
            "standard_errors": drift.standard_errors,
            "sample": found.projection.apply(drift.sample_mean[None])[0].round(DIGITS).tolist(),
            "corpus": found.projection.apply(drift.corpus_mean[None])[0].round(DIGITS).tolist(),
        },
    }


def _points(found: ContextMap) -> dict[str, list[Any]]:
    """Return one list for each property: a list of 5,000 objects would repeat the property names in each of them."""
    chunks = found.chunks
    places = found.points.round(DIGITS)
    return {
        "chunk": [chunk.id for chunk in chunks],
        "document": [chunk.document_id for chunk in chunks],
        "location": [chunk.location for chunk in chunks],
        "heading": [chunk.trail[-1] if chunk.trail else chunk.title for chunk in chunks],
        "x": places[:, 0].tolist(),
        "y": places[:, 1].tolist(),
        "folder": list(found.folder_of),
        "is_context": found.is_context.tolist(),
    }
