"""The parts of a running server that the routes use, and how a route obtains them from its request."""

from dataclasses import dataclass

from fastapi import Request

from cdesearch.serve.admission import Admission
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.settings import ServeSettings
from cdesearch.serve.update_runs import UpdateRuns


@dataclass(frozen=True, slots=True)
class ServerState:
    """The indexes of a running server, its settings, and the objects that run searches and updates."""

    indexes: ServedIndexes
    settings: ServeSettings
    admission: Admission
    updates: UpdateRuns


def state_of(request: Request) -> ServerState:
    """Return the state of the server that received this request."""
    state: ServerState = request.app.state.server
    return state
