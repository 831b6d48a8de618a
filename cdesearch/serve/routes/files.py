"""`GET /api/v1/files` returns the outcome of every file, and `GET /api/v1/facets` the values for the search filters."""

from collections import Counter
from itertools import islice
from pathlib import PurePosixPath
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from cdesearch.serve.indexes import Selection
from cdesearch.serve.routes.parameters import AnyIndexName, IndexName, State
from cdesearch.store.copies import shown_source
from cdesearch.store.file_account import FileRecord, Outcome
from cdesearch.store.index import Index

MAX_FILES = 1_000  # files in one response
MAX_OFFSET = 2**53  # the largest whole number that every JSON reader keeps
MAX_FACETS = 200  # folders, and as many types
FOLDER_DEPTH = 2  # levels of folders

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
        needle = contains.lower()
        records = newest.file_records()
        return [file for file in records if (outcome is None or _is(file, outcome)) and needle in file.path.lower()]

    found = await state.admission.run(lambda: served.searcher.read(matching))
    shown = [
        {"path": file.path, "outcome": file.outcome, "reason": file.reason, "size": file.size}
        for file in islice(found, offset, offset + limit)
    ]
    return JSONResponse({"index": served.name, "total": len(found), "offset": offset, "files": shown})


@router.get("/facets")
async def facets(state: State, index: AnyIndexName = None) -> JSONResponse:
    """The names of all indexes, and the folders (two levels deep) and types of the indexed files.

    Without a name, those of all indexes: they have types in common, but no folders.
    """
    chosen = state.indexes.together([] if index is None else [index])
    found = await state.admission.run(lambda: _facets_of(chosen))
    return JSONResponse({"index": chosen.name, "indexes": list(state.indexes.names), **found})


def _facets_of(chosen: Selection) -> dict[str, Any]:
    """The facets of one index. Those of several have the types of all, and no folders, which differ."""
    every = {member.name: member.searcher.read(_facets) for member in chosen.members}
    if len(every) == 1:
        return next(iter(every.values()))
    types: Counter[str] = Counter()
    for one in every.values():
        types.update({shown["type"]: shown["files"] for shown in one["types"]})
    return {
        "root": "",
        "roots": {name: one["root"] for name, one in every.items()},
        "documents": sum(one["documents"] for one in every.values()),
        "chunks": sum(one["chunks"] for one in every.values()),
        "folders": [],
        "types": [{"type": name, "files": files} for name, files in types.most_common(MAX_FACETS)],
    }


def _facets(index: Index) -> dict[str, Any]:
    folders: Counter[str] = Counter()
    types: Counter[str] = Counter()
    for file in index.file_records():
        if file.outcome == "indexed":
            path = PurePosixPath(file.path)
            parts = path.parts[:-1][:FOLDER_DEPTH]
            folders.update("/".join(parts[: depth + 1]) for depth in range(len(parts)))
            types[path.suffix.removeprefix(".")] += 1
    types.pop("", None)
    return {
        "root": shown_source(index.root),
        "documents": index.manifest.n_documents,
        "chunks": index.manifest.n_chunks,
        "folders": [{"path": path, "files": files} for path, files in sorted(folders.items())[:MAX_FACETS]],
        "types": [{"type": name, "files": files} for name, files in types.most_common(MAX_FACETS)],
    }


def _is(file: FileRecord, outcome: Outcome) -> bool:
    return file.outcome == outcome or (outcome == "skipped" and file.is_in_part)
