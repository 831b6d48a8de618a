"""The end of a server that nobody uses."""

import asyncio
import time

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send


class IdleClock:
    """An application that measures for how long it has had no request."""

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
        """Since the end of the last request; 0 while one runs."""
        return 0.0 if self._running else time.monotonic() - self._last

    async def end_when_idle(self, server: uvicorn.Server, limit: float) -> None:
        """Let the server end as soon as it has had no request for `limit` seconds."""
        while self.seconds < limit:
            await asyncio.sleep(max(0.05, limit - self.seconds))
        server.should_exit = True
