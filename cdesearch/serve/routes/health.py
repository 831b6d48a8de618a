"""`GET /api/v1/healthz`: whether the server runs."""

from fastapi import APIRouter

router = APIRouter(tags=["status"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Answers as soon as the indexes are open; needs no token."""
    return {"status": "ok"}
