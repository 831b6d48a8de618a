"""Close connections whose client sends or reads too slowly, or not at all. uvicorn has no such time limit."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def protocol_with_limit(seconds: float) -> type[H11Protocol]:
    """Return a protocol that closes a connection if headers, or a pause in reading, take longer than `seconds`."""
    return type("LimitedProtocol", (_LimitedProtocol,), {"limit": seconds})


class _LimitedProtocol(H11Protocol):
    limit: float  # seconds
    _deadline: asyncio.TimerHandle | None = None  # of the headers
    _reading_deadline: asyncio.TimerHandle | None = None  # while the buffer of outgoing data is full

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline = self.loop.call_later(self.limit, transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_waiting = self.conn.their_state is h11.IDLE  # the headers are not complete
        if not is_waiting and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        elif is_waiting and self._deadline is None:
            self._deadline = self.loop.call_later(self.limit, self.transport.close)

    def pause_writing(self) -> None:
        super().pause_writing()
        # `close` would wait until the client has read everything.
        self._reading_deadline = self.loop.call_later(self.limit, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reading_deadline is not None:
            self._reading_deadline.cancel()
            self._reading_deadline = None

    def connection_lost(self, exc: Exception | None) -> None:
        for deadline in (self._deadline, self._reading_deadline):
            if deadline is not None:
                deadline.cancel()
        super().connection_lost(exc)
