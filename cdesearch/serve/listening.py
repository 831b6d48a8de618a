"""Serve an application on a TCP port and on Unix sockets until a signal stops it."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp

from cdesearch.errors import InputError
from cdesearch.serve.idle import IdleClock
from cdesearch.serve.settings import ServeSettings
from cdesearch.serve.slow_clients import protocol_with_limit

GRACE_SECONDS = 30  # the time that running requests have to finish when the server is stopped
BACKLOG = 128  # connections that the operating system queues until the server accepts them


class Listeners:
    """The sockets of a server: one TCP socket and any number of Unix sockets.

    The end of a `with` block closes the sockets and removes the files of the Unix sockets.
    """

    def __init__(self, host: str, port: int, paths: Sequence[Path] = ()) -> None:
        """Bind all sockets; raises InputError if one is in use."""
        self.sockets = [_bind_port(host, port)]
        self._files: list[tuple[Path, int]] = []
        try:
            for path in paths:
                self.sockets.append(_bind_path(path))
                self._files.append((path, path.stat().st_ino))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    @property
    def port(self) -> int:
        """The number of the TCP port, which differs from the requested one if that was 0."""
        port: int = self.sockets[0].getsockname()[1]
        return port

    def close(self) -> None:
        """Close the sockets and remove the files of Unix sockets."""
        for bound in self.sockets:
            bound.close()
        for path, inode in self._files:
            with suppress(OSError):
                if path.stat().st_ino == inode:  # otherwise another server has replaced the socket
                    path.unlink()


def run(app: FastAPI, settings: ServeSettings, listeners: Listeners) -> int | None:
    """Answer requests until Ctrl-C, SIGTERM, or `settings.idle_seconds` without a request.

    Running requests have GRACE_SECONDS to finish. Returns the number of the signal; None if there was none.
    """
    return asyncio.run(_run(IdleClock(app), settings, listeners))


async def _run(app: IdleClock, settings: ServeSettings, listeners: Listeners) -> int | None:
    server = make_server(app, settings)
    limit = settings.idle_seconds
    watch = None if limit is None else asyncio.create_task(app.end_when_idle(server, limit))
    await server.serve(listeners.sockets)
    if watch is not None:
        watch.cancel()
    return server.stopped_by


def make_server(app: ASGIApp, settings: ServeSettings) -> "Server":
    """Return a server for `app` that is not started yet."""
    config = uvicorn.Config(
        app,
        http=protocol_with_limit(settings.header_seconds),
        lifespan="on",
        log_config=None,
        access_log=False,  # the log would contain the queries, which are private
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=settings.max_connections,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return Server(config)


class Server(uvicorn.Server):
    """uvicorn's server, which ends quietly after a signal. uvicorn itself would raise the signal again."""

    stopped_by: int | None = None  # the number of the first signal

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Let the running requests finish; at a second Ctrl-C, end at once."""
        self.stopped_by = self.stopped_by or sig
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():  # only the main thread can receive signals
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _bind_port(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":  # on Windows this option would let two servers share a port
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(BACKLOG)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        raise InputError(
            f"The server cannot listen on port {port} of {host} ({error.strerror}).",
            "Choose another port with --port, or stop the program that uses this one.",
        ) from None
    return bound


def _bind_path(path: Path) -> socket.socket:
    """Bind a Unix socket at `path` that only this user can connect to.

    It replaces a socket of this user that no program uses.
    """
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.is_socket() and path.lstat().st_uid == os.geteuid() and not is_listening(path):
            path.unlink()
        bound.bind(str(path))
        path.chmod(0o600)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise InputError(
            f"The server cannot listen on the socket {path} ({error.strerror}).",
            "Stop the server that uses it, or choose another socket with --socket.",
        ) from None
    return bound


def is_listening(path: Path) -> bool:
    """Return whether a program uses the Unix socket at `path`, even if it does not accept this connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:  # such as a datagram socket
            return True
    return True
