"""`GET /api/v1/pages/PATH` returns a page of a PDF as a picture, and `/images/PATH` an image of the indexed folder.

Clients keep both, and ask whether they are still those of the file, which is read for each request.
"""

from http import HTTPStatus
from io import BytesIO
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from cdesearch.search.passage_lines import query_words
from cdesearch.serve.folder_files import draw_page, read_image, read_pdf, scanned_lines
from cdesearch.serve.routes.parameters import IndexName, QueryText, State
from cdesearch.store.opening import hash_contents
from cdesearch.store.schema import text_hash

MAX_WIDTH = 2_000
MAX_PAGE = 50_000
MAX_QUOTE = 1_000  # characters
# An SVG that is opened by its address may contain scripts.
IMAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

router = APIRouter(tags=["pictures"])


class Picture(Response):
    """A picture, as OpenAPI describes it."""

    media_type = "image/*"


@router.get("/pages/{path:path}", response_class=Picture)
async def page(
    state: State,
    request: Request,
    path: str,
    page: Annotated[int, Query(ge=1, le=MAX_PAGE, description="The number of the page.")] = 1,
    width: Annotated[int, Query(ge=100, le=MAX_WIDTH, description="The width of the picture in pixels.")] = 1_000,
    q: QueryText = "",
    quote: Annotated[str, Query(max_length=MAX_QUOTE, description="A sentence to mark as a whole.")] = "",
    index: IndexName = None,
) -> Response:
    """A page of a PDF as a PNG, on which the words of the query `q` and a quotation are marked.

    The header `Page-Count` has the number of pages, and `Middle-Mark` the place of the middle mark in percent from the
    top. There is no picture if the file is encrypted, in an archive, or has changed since it was indexed.
    """
    served = state.indexes[index]
    words = query_words(q)

    def drawn() -> Response:
        (pdf, contents_hash), lines = served.searcher.read(
            lambda newest: (read_pdf(newest, path), scanned_lines(newest, path, page))
        )
        headers = _kept(text_hash(f"{contents_hash} {page} {width} {words} {quote} {lines}"))
        if _is_known(request, headers):
            return Response(None, HTTPStatus.NOT_MODIFIED, headers)
        picture, count, middle = draw_page(pdf, page, width, words, quote, lines)
        headers |= {"Page-Count": str(count), "Middle-Mark": str(middle)}
        return Response(picture, headers=headers, media_type="image/png")

    return await state.drawing.run(drawn)


@router.get("/images/{path:path}", response_class=Picture)
async def image(state: State, request: Request, path: str, index: IndexName = None) -> Response:
    """An image of the indexed folder, by its path relative to the folder; not one that is hidden or excluded."""
    served = state.indexes[index]

    def read() -> Response:
        contents, media_type = served.searcher.read(lambda newest: read_image(newest, path))
        headers = _kept(hash_contents(BytesIO(contents))) | {"Content-Security-Policy": IMAGE_POLICY}
        if _is_known(request, headers):
            return Response(None, HTTPStatus.NOT_MODIFIED, headers)
        return Response(contents, headers=headers, media_type=media_type)

    return await state.drawing.run(read)


def _kept(contents_hash: str) -> dict[str, str]:
    """The headers by which a browser keeps a picture, and asks whether it is still the same before it is shown."""
    return {"ETag": f'"{contents_hash}"', "Cache-Control": "private, no-cache"}


def _is_known(request: Request, headers: dict[str, str]) -> bool:
    return request.headers.get("if-none-match") == headers["ETag"]
