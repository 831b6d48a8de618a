"""`GET /api/v1/healthz` and `GET /api/v1/metrics`: whether the server runs, and what it does."""

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from cdesearch.serve.state import state_of

router = APIRouter(tags=["status"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Answers as soon as the indexes are open; needs no token."""
    return {"status": "ok"}


@router.get("/metrics", response_class=Response)
def metrics(request: Request) -> Response:
    """Measurements in the text format of Prometheus."""
    return Response(state_of(request).metrics.text(), media_type=CONTENT_TYPE_LATEST)
