"""`GET /api/v1/search` returns the hits of a query, `/explain` the evidence of one, `/related` passages like one."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from cdesearch.cli.hits.grouping import group_hits, search_for_groups
from cdesearch.cli.hits.render import hit_as_json
from cdesearch.search.facets import facets_of
from cdesearch.search.passage_lines import best_line, query_words, shown_lines, trail_of
from cdesearch.search.readable import headings_as_text
from cdesearch.search.request import SearchRequest
from cdesearch.search.result import SearchResult
from cdesearch.serve.indexes import Selection
from cdesearch.serve.mcp.search_tool import filters_of, related_hits
from cdesearch.serve.routes.documents import places_as_json
from cdesearch.serve.routes.parameters import MAX_OFFSET, AnyIndexName, Asked, IndexName, IndexNames, State
from cdesearch.service import root_of
from cdesearch.store.schema import Hit

FURTHER = 3  # hits of a document that follow its best one

router = APIRouter(tags=["search"])


@router.get("/search")
async def search(
    state: State,
    asked: Asked,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET, description="How many of the best hits to skip.")] = 0,
    facets: Annotated[
        bool,
        Query(description="Return also the `date` of each hit, and the folders, types, years and tags of documents."),
    ] = False,
    group: Annotated[
        bool,
        Query(description="Let `k` and `offset` count documents. `further` is the number of hits that are not sent."),
    ] = False,
    index: IndexNames = None,
) -> JSONResponse:
    """The chunks that match the query best, best first.

    `facets` counts the documents of the 100 best chunks, among those that the filters allow. A folder after a slash is
    a value of `path`, a type after a dot one of `type`, a year one of `since`, and a tag is filtered by
    `filter=tag="..."`.

    Several indexes are searched as one, and each hit then has the name of its `index`. `copies` are the hits of other
    files with the same text. With `group`, the hits of a document follow its best one, and those after the first four
    are only counted.
    """
    chosen = state.indexes.together(index or ())
    asked, end = replace(asked, facets=facets), offset + asked.k
    if not group:
        result = await state.admission.run(lambda: chosen.service.search(asked.for_hits(end)))
        return JSONResponse(_answer(chosen, asked, offset, result, result.hits[offset:]))
    result = await state.admission.run(lambda: search_for_groups(chosen.service.search, asked.for_hits(end + 1)))
    groups = group_hits(result.hits, len(result.hits))
    shown = [hit for one in groups[offset:end] for hit in (one.best, *one.more[:FURTHER])]
    answer = _answer(chosen, asked, offset, result, shown) | {"more": len(groups) > end}
    is_empty = not result.hits and asked.has_filter
    if is_empty and not await state.admission.run(lambda: chosen.service.has_file(asked)):
        answer["unmatched"] = filters_of(asked)
    further = {one.best.rank: len(one.more[FURTHER:]) for one in groups}
    return JSONResponse(answer | {"hits": [hit | {"further": further.get(hit["rank"])} for hit in answer["hits"]]})


@router.get("/related")
async def related(
    state: State,
    path: Annotated[
        str, Query(description="A file, or a range of it such as a.md:10-20 or b.pdf#page=3.", max_length=4_000)
    ],
    index: AnyIndexName = None,
) -> JSONResponse:
    """The chunks of other files that are nearest in meaning to a file or a range of it, nearest first."""
    chosen, asked, result, _ = await state.admission.run(lambda: related_hits(state.indexes, index, path))
    return JSONResponse({**_answer(chosen, asked, 0, result, result.hits), "query": path, "more": False})


@router.get("/explain")
async def explain(
    state: State,
    asked: Asked,
    chunk: Annotated[str, Query(description="The id of the chunk, which each hit contains.", max_length=200)],
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET, description="That of the search.")] = 0,
    index: IndexName = None,
) -> JSONResponse:
    """The evidence of the vectors and of the words, as numbers that add up to the score of the hit.

    The parameters must be those of the search that found the chunk. Of a search of several indexes, the evidence in the
    index of the hit is explained, without the others. If the model has a context head, `context` says which sampled
    chunks the query attends to.
    """
    served = state.indexes[index]
    explained = await state.admission.run(lambda: served.searcher.explain(chunk, asked.for_hits(offset + asked.k)))
    return JSONResponse({"query": asked.text, "index": served.name, **asdict(explained)})


def _answer(
    chosen: Selection, asked: SearchRequest, offset: int, result: SearchResult, found: Sequence[Hit]
) -> dict[str, Any]:
    query, root = result.searched or asked.text, partial(root_of, chosen.service)
    hits = [_hit(hit, query, root) for hit in found]
    for shown, hit in zip(hits, found, strict=True):
        shown["copies"] = [_hit(copy, query, root) for copy in hit.copies]
        if facts := result.documents.get((hit.index, hit.chunk.document_id)):
            shown["date"] = facts.day
    facets = {
        name: [{"value": value, "files": n} for value, n in found]
        for name, found in facets_of(result.documents).items()
    }
    most = sum(member.index.manifest.n_chunks for member in chosen.members)
    return {
        "query": asked.text,
        "searched": result.searched,
        "mode": asked.mode,
        "index": chosen.name,
        "generation": result.generation,
        "stage": result.stage,
        "milliseconds": round(1000 * result.seconds, 2),
        "truncated_to": result.truncated_to,
        "offset": offset,
        "more": len(result.hits) == offset + asked.k < (most if result.total is None else result.total),
        "total": result.total,
        "unknown_name": result.unknown_name,
        "answered": result.confident(asked.min_confidence).seems_answered,
        **({"facets": facets} if asked.facets else {}),
        "hits": [hit for hit in hits if (hit["confidence"] or 1) >= asked.min_confidence],
    }


def _hit(hit: Hit, query: str, root_of: Callable[[Hit], Path]) -> dict[str, Any]:
    """What the command prints of a hit, its passage, and what clients need to find the places of other lines."""
    words = query_words(query)
    lines = shown_lines(hit, words, full=False)
    best = best_line(lines, words)
    return hit_as_json(hit, best, root_of) | {
        "chunk": hit.chunk.id,
        "passage": {"text": "\n".join(line.text for line in lines), "row": best.row},
        "headings": headings_as_text(hit.chunk.path, (hit.chunk.title, *trail_of(best, hit.chunk))),
        "location": hit.chunk.location_at(best.row),
        "places": places_as_json(hit.chunk),
        "matches": list(hit.matches),
    }
