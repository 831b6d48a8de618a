"""`GET /api/v1/files`: what was done with every file, and which folders and types there are to search in."""

from collections import Counter
from itertools import islice
from pathlib import PurePosixPath
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from cdesearch.serve.routes.search import IndexName
from cdesearch.serve.state import state_of
from cdesearch.store.file_account import FileRecord, Outcome, read_files
from cdesearch.store.folder import shown_path
from cdesearch.store.index import Index

MAX_FILES = 1_000  # in one answer
MAX_OFFSET = 2**53  # the largest whole number that every JSON reader keeps
MAX_FACETS = 200  # folders, and types
FOLDER_DEPTH = 2

router = APIRouter(tags=["files"])


@router.get("/files")
async def files(
    request: Request,
    outcome: Annotated[Outcome | None, Query(description="Only files with this outcome.")] = None,
    contains: Annotated[str, Query(description="Only paths that contain this text.", max_length=200)] = "",
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET, description="How many files to leave out.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_FILES, description="How many files at most.")] = 100,
    index: IndexName = None,
) -> JSONResponse:
    """The files in the order in which they were found. Files of which a part could not be read count as skipped."""
    state = state_of(request)
    served = state.indexes[index]

    def matching(newest: Index) -> list[FileRecord]:
        needle = contains.lower()
        records = read_files(newest.generation)
        return [file for file in records if (outcome is None or _is(file, outcome)) and needle in file.path.lower()]

    found = await state.admission.run(lambda: served.read(matching))
    shown = [_shown(file) for file in islice(found, offset, offset + limit)]
    return JSONResponse({"index": served.name, "total": len(found), "offset": offset, "files": shown})


@router.get("/facets")
async def facets(request: Request, index: IndexName = None) -> JSONResponse:
    """The folders of the indexed files, two levels deep, and the types of these files; and the indexes there are."""
    state = state_of(request)
    served = state.indexes[index]
    found = await state.admission.run(lambda: served.read(_facets))
    return JSONResponse({"index": served.name, "indexes": list(state.indexes.names), **found})


def _facets(index: Index) -> dict[str, Any]:
    folders: Counter[str] = Counter()
    types: Counter[str] = Counter()
    for file in read_files(index.generation):
        if file.outcome == "indexed":
            path = PurePosixPath(file.path)
            parts = path.parts[:-1][:FOLDER_DEPTH]
            folders.update("/".join(parts[: depth + 1]) for depth in range(len(parts)))
            types[path.suffix.removeprefix(".")] += 1
    types.pop("", None)
    return {
        "root": shown_path(index.root),
        "documents": index.manifest.n_documents,
        "chunks": index.manifest.n_chunks,
        "folders": [{"path": path, "files": files} for path, files in sorted(folders.items())[:MAX_FACETS]],
        "types": [{"type": name, "files": files} for name, files in types.most_common(MAX_FACETS)],
    }


def _is(file: FileRecord, outcome: Outcome) -> bool:
    is_partly_read = file.outcome == "indexed" and bool(file.reason)
    return file.outcome == outcome or (outcome == "skipped" and is_partly_read)


def _shown(file: FileRecord) -> dict[str, Any]:
    return {"path": file.path, "outcome": file.outcome, "reason": file.reason, "size": file.size}
