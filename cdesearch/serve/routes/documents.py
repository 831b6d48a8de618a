"""`GET /api/v1/documents/ID` returns the chunks of a document, or those around one of them."""

import re
from functools import cache
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from cdesearch.cli.hits.render import fields_as_json
from cdesearch.search.documents import DocumentReader
from cdesearch.search.readable import headings_as_text
from cdesearch.serve.folder_files import image_paths
from cdesearch.serve.rendered import HasImage, open_fences, rendered
from cdesearch.serve.routes.parameters import IndexName, State
from cdesearch.store.schema import Chunk

MAX_AROUND = 50

router = APIRouter(tags=["documents"])


@router.get("/documents/{document_id:path}")
async def document(
    state: State,
    document_id: str,
    chunk: Annotated[
        str | None,
        Query(description="The id of the chunk to mark, which each hit contains, or `#` and the name of an anchor."),
    ] = None,
    around: Annotated[int, Query(ge=0, le=MAX_AROUND, description="How many chunks to return on each side of it.")] = 3,
    rows: Annotated[bool, Query(description="Return also the rows of the file around a document of one line.")] = False,
    index: IndexName = None,
) -> JSONResponse:
    """A chunk with its neighbours in the document, or without `chunk` the start of the document.

    The start is returned with `changed`, too, if the document has no such chunk any more.
    """
    served = state.indexes[index]

    def read() -> dict[str, Any]:
        chunks = served.searcher.read(lambda newest: DocumentReader(newest).document(document_id))
        images = cache(lambda: served.searcher.read(image_paths))  # most documents have none
        part = _part(chunks, chunk, around, lambda path: path in images())
        own = chunks[0]
        is_row = len(chunks) == 1 and own.document_id != own.path and own.line_start == own.line_end is not None
        if not (rows and is_row):
            return part
        found, first, n_rows = served.searcher.read(lambda newest: DocumentReader(newest).rows_around(own, around))
        return {**part, "first": first, "n_chunks": n_rows, "chunks": _part(found, own.id, around, bool)["chunks"]}

    return JSONResponse({**await state.admission.run(read), "index": served.name})


def _part(chunks: tuple[Chunk, ...], marked: str | None, around: int, has_image: HasImage) -> dict[str, Any]:
    """The marked chunk with up to `around` chunks on each side, or the first chunks if none is marked.

    `marked` is the id of a chunk, or `#` and the name of an anchor or a heading in it.
    """
    if marked is not None and marked.startswith("#"):
        marked = next((chunk.id for chunk in chunks if marked[1:] in _anchors(chunk)), None)
    found = next((number for number, chunk in enumerate(chunks) if marked in (None, chunk.id)), None)
    position = found or 0
    first, end = max(0, position - around), position + around + 1
    begin = [*islice(open_fences(chunks), end)]
    return {
        "document": chunks[0].document_id,
        "path": chunks[0].path,
        "title": chunks[0].title,
        "changed": found is None,
        "n_chunks": len(chunks),
        "first": first,
        "chunks": [
            {**_shown(chunk), **rendered(chunk, fence, has_image), "is_hit": chunk.id == marked}
            for chunk, fence in zip(chunks[first:end], begin[first:], strict=True)
        ],
    }


def _anchors(chunk: Chunk) -> set[str | None]:
    """The names by which links lead to a part of a chunk: ids of elements, and headings as in Markdown."""
    trails = (chunk.trail, *(trail for _, trail in chunk.places.trails))
    headings = {re.sub(r"[^\w -]", "", trail[-1].lower()).replace(" ", "-") for trail in trails if trail}
    return {chunk.anchor, *(name for _, name in chunk.places.anchors), *headings}


def _shown(chunk: Chunk) -> dict[str, Any]:
    return {
        "chunk": chunk.id,
        "text": chunk.body,
        "trail": headings_as_text(chunk.path, chunk.trail),
        "line_start": chunk.line_start,
        "line_end": chunk.line_end,
        "page": chunk.page,
        "anchor": chunk.anchor,
        "record": chunk.record,
        "fields": fields_as_json(chunk),
        "places": places_as_json(chunk),
    }


def places_as_json(chunk: Chunk) -> dict[str, Any]:
    """For each kind of place the lines of the chunk, counted from 0, from which on it has another value."""
    return {
        "trails": [[0, list(chunk.trail)], *([line, list(trail)] for line, trail in chunk.places.trails)],
        "anchors": [[0, chunk.anchor], *map(list, chunk.places.anchors)],
        "numbers": [[0, chunk.line_start], *map(list, chunk.places.numbers)],
    }
