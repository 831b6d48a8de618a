"""Stop a server that has had no request for some time."""

import asyncio
import time

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send


class IdleClock:
    """Middleware that measures for how long an application has had no request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._running = 0
        self._last = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_request = scope["type"] == "http"
        self._running += is_request
        try:
            await self._app(scope, receive, send)
        finally:
            self._running -= is_request
            self._last = time.monotonic()

    @property
    def seconds(self) -> float:
        """The seconds since the end of the last request, or 0 while a request is running."""
        return 0.0 if self._running else time.monotonic() - self._last

    async def end_when_idle(self, server: uvicorn.Server, limit: float) -> None:
        """Tell `server` to stop as soon as it has had no request for `limit` seconds."""
        while self.seconds < limit:
            await asyncio.sleep(max(0.05, limit - self.seconds))
        server.should_exit = True
