"""`POST /api/v1/labels` marks a hit as good or bad, as `cdesearch label` does."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from cdesearch.errors import QueryError
from cdesearch.evaluation.labels import BAD, GOOD, mark
from cdesearch.search.documents import DocumentReader
from cdesearch.serve.routes.parameters import IndexName, QueryText
from cdesearch.serve.state import state_of

router = APIRouter(tags=["labels"])


@router.post("/labels")
def add_label(
    request: Request,
    q: QueryText,
    chunk: Annotated[str, Query(description="The id of the chunk, which each hit contains.", max_length=200)],
    mark_: Annotated[Literal["good", "bad"], Query(alias="mark", description="Whether the chunk answers.")],
    index: IndexName = None,
) -> JSONResponse:
    """Store the mark beside the index, in place of an earlier one, and return how many questions have good hits."""
    if not q.strip():
        raise QueryError("The query is empty.", "Type some words.")
    served = state_of(request).indexes[index]
    found = served.read(lambda opened: DocumentReader(opened).chunk(chunk))
    labels = mark(served.index.folder, q, [(found, GOOD if mark_ == "good" else BAD)])
    return JSONResponse({"index": served.name, "mark": mark_, "questions": labels.n_questions})
