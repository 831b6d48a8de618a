"""`GET /api/v1/status` returns what is indexed, and what has changed since the last update."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from cdesearch import __version__
from cdesearch.cli.status import read_status
from cdesearch.errors import CdesearchError
from cdesearch.serve.indexes import ServedIndex
from cdesearch.serve.routes.parameters import IndexName
from cdesearch.serve.state import state_of

router = APIRouter(tags=["status"])


@router.get("/status")
async def status(request: Request, index: IndexName = None) -> JSONResponse:
    """Return the status of the named index, or of every index, as `cdesearch status` shows it."""
    state = state_of(request)
    wanted = list(state.indexes) if index is None else [state.indexes[index]]
    facts = await state.admission.run(lambda: [_facts(served) for served in wanted])
    return JSONResponse({"version": __version__, "indexes": facts})


def _facts(served: ServedIndex) -> dict[str, Any]:
    """Return the values that `cdesearch status` shows; `problem` is the error if the index cannot be used."""
    facts: dict[str, Any] = {"name": served.name, "generation": served.index.generation.name}
    problem = served.problem
    try:
        facts.update(served.read(read_status))
    except CdesearchError as error:
        problem = problem or error
    facts["problem"] = None if problem is None else {"detail": problem.cause, "remedy": problem.remedy}
    return facts
