"""`POST /api/v1/updates` starts an update of an index, and `GET /api/v1/updates` returns its progress."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from cdesearch.serve.indexes import ServedIndex
from cdesearch.serve.problems import problem
from cdesearch.serve.routes.parameters import IndexName
from cdesearch.serve.state import state_of
from cdesearch.serve.update_runs import UpdateRuns
from cdesearch.store.trust import require_own

router = APIRouter(tags=["updates"])


@router.post("/updates", status_code=HTTPStatus.ACCEPTED)
def start_update(request: Request, index: IndexName = None) -> JSONResponse:
    """Start an update of the index, as `cdesearch index` does. Only one update runs at a time.

    Searches are answered while the update runs.
    """
    state = state_of(request)
    served = state.indexes[index]
    require_own(served.index.folder)
    if not state.updates.start(served.index.folder):
        return problem(HTTPStatus.CONFLICT, "An update is already running.", "Wait until it ends.")
    return JSONResponse(_shown(served, state.updates), HTTPStatus.ACCEPTED)


@router.get("/updates")
def update(request: Request, index: IndexName = None) -> JSONResponse:
    """Return the state of the latest update that this server has started, and the last lines of its output.

    The state is "never", "running", "done" or "failed".
    """
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
