"""`/api/v1/updates`: bring an index up to date, and see how far that is."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from cdesearch.serve.indexes import ServedIndex
from cdesearch.serve.problems import problem
from cdesearch.serve.routes.search import IndexName
from cdesearch.serve.state import state_of
from cdesearch.serve.update_runs import UpdateRuns

router = APIRouter(tags=["updates"])


@router.post("/updates", status_code=HTTPStatus.ACCEPTED)
def start_update(request: Request, index: IndexName = None) -> JSONResponse:
    """Start an update, as `cdesearch index` does it. One runs at a time; searches are not disturbed."""
    state = state_of(request)
    served = state.indexes[index]
    if not state.updates.start(served.index.folder):
        return problem(HTTPStatus.CONFLICT, "An update is running.", "Wait until it ends.")
    return JSONResponse(_shown(served, state.updates), HTTPStatus.ACCEPTED)


@router.get("/updates")
def update(request: Request, index: IndexName = None) -> JSONResponse:
    """The state of the latest update that this server has started: "never", "running", "done" or "failed"."""
    state = state_of(request)
    return JSONResponse(_shown(state.indexes[index], state.updates))


def _shown(served: ServedIndex, updates: UpdateRuns) -> dict[str, Any]:
    run = updates.latest(served.index.folder)
    if run is None:
        return {"index": served.name, "state": "never", "started": None, "ended": None, "lines": []}
    return {
        "index": served.name,
        "state": run.state,
        "started": run.started,
        "ended": run.ended,
        "lines": list(run.lines),
    }
