"""Close connections whose client sends nothing, or sends the headers too slowly. uvicorn has no such time limit."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def protocol_with_limit(seconds: float) -> type[H11Protocol]:
    """Return a protocol that closes a connection if the headers of a request take longer than `seconds`."""
    return type("LimitedProtocol", (_LimitedProtocol,), {"header_seconds": seconds})


class _LimitedProtocol(H11Protocol):
    header_seconds: float
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline = self.loop.call_later(self.header_seconds, transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_waiting = self.conn.their_state is h11.IDLE  # the headers are not complete
        if not is_waiting and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        elif is_waiting and self._deadline is None:
            self._deadline = self.loop.call_later(self.header_seconds, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)
