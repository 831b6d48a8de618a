"""Requests to one server: over connections that are kept, each within a time limit, and interrupted if nobody waits."""

import http.client
import io
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Any
from weakref import finalize

from cdesearch.api_server import ApiServer

MAX_ANSWER_BYTES = 200_000_000
CHECK_LOG = "Check the log of the server."


class TemporaryError(Exception):
    """A request failed, and may succeed if it is repeated."""

    def __init__(self, error: Exception, wait: float | None = None) -> None:
        self.error = error  # to raise if it does not
        self.wait = wait  # seconds, if the server asks for them


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server has answered."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of one caller, which end together."""

    stop: Event = field(default_factory=Event)  # set when no further request shall begin
    busy: set[http.client.HTTPConnection] = field(default_factory=set)

    def interrupt(self) -> None:
        """End the requests under way; their threads get an error."""
        for one in [connection.sock for connection in tuple(self.busy)]:
            if one is not None:
                with suppress(OSError):
                    # The method of the base class bypasses TLS, whose state belongs to the thread of the request.
                    socket.socket.shutdown(one, socket.SHUT_RDWR)


class Connections:
    """The connections to one server, which are kept and reused. Any number of threads may use them."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._idle: list[http.client.HTTPConnection] = []
        finalize(self, _close_all, self._idle)

    def post(self, data: bytes, seconds: float, requests: Requests) -> Answer:
        """The answer to a request with the JSON `data`, complete within `seconds`.

        Raises TemporaryError, or the error class of the server for a failure that would be the same again.
        """
        while True:
            connection, is_reused = self._connection()
            requests.busy.add(connection)
            try:
                answer = self._exchange(connection, data, seconds)
                break
            except TimeoutError:
                connection.close()
                raise self._server.failure(f"did not answer within {seconds:g} seconds", CHECK_LOG) from None
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if not is_reused or requests.stop.is_set():
                    failure = self._server.failure(f"closed the connection ({type(error).__name__})", CHECK_LOG)
                    raise TemporaryError(failure) from None
                # The server may have closed a connection that was idle, which says nothing about this request.
            finally:
                requests.busy.discard(connection)
        if len(answer.body) > MAX_ANSWER_BYTES:
            connection.close()
            raise self._server.failure(
                f"sent more than {MAX_ANSWER_BYTES:,} bytes", f"Check the URL of {self._server.option}."
            )
        if connection.sock is not None:  # the server has not asked to close it
            self._idle.append(connection)
        return answer

    def _connection(self) -> tuple[http.client.HTTPConnection, bool]:
        """A connection, and whether it has been used before."""
        with suppress(IndexError):
            return self._idle.pop(), True  # atomic, so no lock is needed
        try:
            return self._server.connect(), False
        except (OSError, UnicodeError) as error:
            failure = self._server.unreachable(error)
            raise (failure if _is_final(error) else TemporaryError(failure)) from None

    def _exchange(self, connection: http.client.HTTPConnection, data: bytes, seconds: float) -> Answer:
        until = time.monotonic() + seconds
        connection.sock.settimeout(seconds)  # of sending; each read has what is left of it
        connection.response_class = partial(_TimedResponse, until=until)  # type: ignore[assignment] # called like a class
        headers = {"Content-Type": "application/json", "Accept": "application/json", **self._server.authorization}
        connection.request("POST", self._server.path, data, headers)
        with connection.getresponse() as response:
            body = response.read(MAX_ANSWER_BYTES + 1)
            if response.length and len(body) <= MAX_ANSWER_BYTES:  # `read` with a limit does not report it
                raise http.client.IncompleteRead(body, response.length)
            return Answer(response.status, response.headers, body)


class _TimedResponse(http.client.HTTPResponse):
    """A response that must be complete at a time, however often a server that is slow sends another byte."""

    def __init__(self, sock: socket.socket, *, until: float, **options: Any) -> None:
        super().__init__(sock, **options)
        self.fp = io.BufferedReader(_TimedReader(self.fp.detach(), sock, until))


class _TimedReader(io.RawIOBase):
    """The bytes of a socket until a time, in seconds of `time.monotonic`; then it raises TimeoutError."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, until: float) -> None:
        self._raw = raw
        self._sock = sock
        self._until = until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _close_all(connections: list[http.client.HTTPConnection]) -> None:
    for connection in connections:
        connection.close()


def _is_final(error: Exception) -> bool:
    """Whether connecting again would fail again: a wrong certificate, or a name that no host can have."""
    return isinstance(error, ssl.SSLError | UnicodeError)
