"""`GET /api/v1/healthz` tells whether the server is running, and `GET /api/v1/metrics` returns its metrics."""

import os

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from cdesearch.serve.state import state_of

router = APIRouter(tags=["status"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def healthz() -> dict[str, str | int]:
    """Return `ok` once the indexes are open. This request needs no token."""
    return {"status": "ok", "process": os.getpid()}


@router.get("/metrics", response_class=Response)
def metrics(request: Request) -> Response:
    """Return the metrics of the server in the text format of Prometheus."""
    return Response(state_of(request).metrics.text(), media_type=CONTENT_TYPE_LATEST)
