"""What every route needs: the indexes, the settings, and the queue of searches."""

from dataclasses import dataclass

from fastapi import Request

from cdesearch.serve.admission import Admission
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.metrics import ServerMetrics
from cdesearch.serve.settings import ServeSettings
from cdesearch.serve.update_runs import UpdateRuns


@dataclass(frozen=True, slots=True)
class ServerState:
    """The parts of a running server."""

    indexes: ServedIndexes
    settings: ServeSettings
    admission: Admission
    metrics: ServerMetrics
    updates: UpdateRuns


def state_of(request: Request) -> ServerState:
    """The parts of the server that received this request."""
    state: ServerState = request.app.state.server
    return state
