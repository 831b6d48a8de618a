"""`GET /api/v1/files` returns the outcome of every file."""

from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from cdesearch.serve.routes.parameters import IndexName, State
from cdesearch.store.file_account import FileRecord, Outcome
from cdesearch.store.index import Index

MAX_FILES = 1_000  # files in one response
MAX_OFFSET = 2**53  # the largest whole number that every JSON reader keeps

router = APIRouter(tags=["files"])


@router.get("/files")
async def files(
    state: State,
    outcome: Annotated[Outcome | None, Query(description="Return only files with this outcome.")] = None,
    contains: Annotated[str, Query(description="Return only paths that contain this text.", max_length=200)] = "",
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET, description="How many files to skip.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_FILES, description="The maximum number of files to return.")] = 100,
    index: IndexName = None,
) -> JSONResponse:
    """The files in the order in which they were found, with the outcome of each.

    With `outcome=skipped`, files that could be read only in part are included.
    """
    served = state.indexes[index]

    def matching(newest: Index) -> list[FileRecord]:
        def is_shown(file: FileRecord) -> bool:
            is_chosen = outcome in (None, file.outcome) or (outcome == "skipped" and file.is_in_part)
            return is_chosen and contains.lower() in file.path.lower()

        return [*filter(is_shown, newest.file_records())]

    found = await state.admission.run(lambda: served.searcher.read(matching))
    shown = [
        {"path": file.path, "outcome": file.outcome, "reason": file.reason, "size": file.size}
        for file in islice(found, offset, offset + limit)
    ]
    return JSONResponse({"index": served.name, "total": len(found), "offset": offset, "files": shown})
