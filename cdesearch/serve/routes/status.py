"""`/api/v1/indexes` names the indexes, `/status` says what has changed since, and `/updates` updates one of them."""

import os
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from cdesearch import __version__
from cdesearch.serve.indexes import ServedIndex
from cdesearch.serve.problems import problem
from cdesearch.serve.routes.parameters import AnyIndexName, IndexName, State
from cdesearch.serve.updates import UpdateRuns
from cdesearch.store.copies import shown_source
from cdesearch.store.trust import require_own

router = APIRouter(tags=["status"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def healthz() -> dict[str, str | int]:
    """`ok` once the indexes are open. This request needs no token."""
    return {"status": "ok", "process": os.getpid()}


@router.get("/indexes")
async def indexes(state: State) -> JSONResponse:
    """The name of each index, the folder to which its paths are relative, and its size."""
    shown = [
        {
            "name": served.name,
            "root": shown_source(served.index.root),
            "files": served.index.manifest.files["indexed"],
            "documents": served.index.manifest.n_documents,
            "chunks": served.index.manifest.n_chunks,
        }
        for served in state.indexes
    ]
    return JSONResponse({"indexes": shown})


@router.get("/status")
async def status(state: State, index: AnyIndexName = None) -> JSONResponse:
    """The status of the named index, or of every index, as `cdesearch status` shows it."""
    wanted = list(state.indexes) if index is None else [state.indexes[index]]
    facts = await state.admission.run(lambda: [_facts(served) for served in wanted])
    return JSONResponse({"version": __version__, "indexes": facts})


@router.post("/updates", status_code=HTTPStatus.ACCEPTED)
def start_update(state: State, index: IndexName = None) -> JSONResponse:
    """Start an update of the index, as `cdesearch index` does. Only one update runs at a time.

    Searches are answered while the update runs.
    """
    served = state.indexes[index]
    require_own(served.index.folder)
    if not state.updates.start(served.index.folder):
        return problem(HTTPStatus.CONFLICT, "An update is already running.", "Wait until it ends.")
    return JSONResponse(_progress(served, state.updates), HTTPStatus.ACCEPTED)


@router.get("/updates")
def update(state: State, index: IndexName = None) -> JSONResponse:
    """The state of the latest update that this server has started, and the last lines of its output.

    The state is "never", "running", "done" or "failed".
    """
    return JSONResponse(_progress(state.indexes[index], state.updates))


def _facts(served: ServedIndex) -> dict[str, Any]:
    generation = served.index.generation.name
    facts, error = served.status()
    problem = None if error is None else {"detail": error.cause, "remedy": error.remedy}
    return {"name": served.name, "generation": generation, **facts, "problem": problem}


def _progress(served: ServedIndex, updates: UpdateRuns) -> dict[str, Any]:
    run = updates.latest(served.index.folder)
    if run is None:
        return {"index": served.name, "state": "never", "started": None, "ended": None, "lines": []}
    times = {"started": run.started, "ended": run.ended}
    return {"index": served.name, "state": run.state, **times, "lines": list(run.lines)}
