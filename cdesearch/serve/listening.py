"""Run an application on a TCP port and a Unix socket until a signal ends it."""

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from cdesearch.errors import InputError
from cdesearch.serve.settings import ServeSettings

GRACE_SECONDS = 30  # for the answers that run when the server is stopped
BACKLOG = 128


def bind(settings: ServeSettings) -> list[socket.socket]:
    """The sockets to listen on, TCP first; raises InputError if one is in use."""
    sockets = [_bind_port(settings)]
    if settings.socket is not None:
        try:
            sockets.append(_bind_path(settings.socket))
        except BaseException:
            sockets[0].close()
            raise
    return sockets


def run(app: FastAPI, settings: ServeSettings, sockets: list[socket.socket]) -> None:
    """Answer requests until Ctrl-C or SIGTERM; then the running answers finish."""
    config = uvicorn.Config(
        app,
        lifespan="on",
        log_config=None,
        access_log=False,  # queries are private
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=settings.max_connections,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    try:
        asyncio.run(_Server(config).serve(sockets))
    finally:
        if settings.socket is not None:
            settings.socket.unlink(missing_ok=True)


class _Server(uvicorn.Server):
    """uvicorn's server, for which a signal is the normal way to end. uvicorn would raise it again at the end."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _bind_port(settings: ServeSettings) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(BACKLOG)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        raise InputError(
            f"The server cannot listen on port {settings.port} of {settings.host} ({error.strerror}).",
            "Name another port with --port, or stop the program that uses it.",
        ) from None
    return bound


def _bind_path(path: Path) -> socket.socket:
    """A socket at `path`, which replaces one that nobody listens on."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.is_socket() and not _is_alive(path):
            path.unlink()
        bound.bind(str(path))
        path.chmod(0o600)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise InputError(
            f"The server cannot listen on the socket {path} ({error.strerror}).",
            "Stop the server that uses it, or name another with --socket.",
        ) from None
    return bound


def _is_alive(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client, suppress(OSError):
        client.connect(str(path))
        return True
    return False
