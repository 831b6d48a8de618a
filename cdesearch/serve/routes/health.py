"""`GET /api/v1/healthz` tells whether the server is running."""

import os

from fastapi import APIRouter

router = APIRouter(tags=["status"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def healthz() -> dict[str, str | int]:
    """Return `ok` once the indexes are open. This request needs no token."""
    return {"status": "ok", "process": os.getpid()}
