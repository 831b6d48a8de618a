"""Serve an application on a TCP port and on Unix sockets until a signal stops it."""

import asyncio
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from cdesearch.errors import InputError
from cdesearch.serve.settings import ServeSettings

GRACE_SECONDS = 30  # the time that running requests have to finish when the server is stopped
MAX_CONNECTIONS = 256  # further requests are refused with status 503
BACKLOG = 128  # connections that the operating system queues until the server accepts them


@contextmanager
def listening(host: str, port: int | None, paths: Sequence[Path] = ()) -> Iterator[list[socket.socket]]:
    """Listen on a TCP port, and on Unix sockets at `paths` that only this user can connect to.

    The first socket is that of the port, if there is one; port 0 selects a free one. Raises InputError if a port or
    socket is in use.
    """
    with ExitStack() as stack:
        sockets = [] if port is None else [stack.enter_context(_bind_port(host, port))]
        for path in paths:
            sockets.append(stack.enter_context(_bind_path(path)))
            stack.callback(path.unlink, missing_ok=True)  # before the socket is closed, and another server replaces it
        yield sockets


def run(app: ASGIApp, settings: ServeSettings, sockets: list[socket.socket]) -> None:
    """Answer requests until Ctrl-C, SIGTERM, or `settings.idle_seconds` without a request.

    Running requests have GRACE_SECONDS to finish. Then the handler from before gets the signal.
    """
    asyncio.run(_run(make_server(app), settings.idle_seconds, sockets))


async def _run(server: uvicorn.Server, idle_seconds: float | None, sockets: list[socket.socket]) -> None:
    watch = None if idle_seconds is None else asyncio.create_task(stop_when_idle(server, idle_seconds))
    await server.serve(sockets)
    if watch is not None:
        watch.cancel()


async def stop_when_idle(server: uvicorn.Server, limit: float) -> None:
    """Tell `server` to stop as soon as it has had no request for `limit` seconds."""
    answered, last = 0, time.monotonic()
    while time.monotonic() - last < limit:
        await asyncio.sleep(min(limit / 10, 1.0))
        if server.server_state.tasks or server.server_state.total_requests != answered:
            answered, last = server.server_state.total_requests, time.monotonic()
    server.should_exit = True


def make_server(app: ASGIApp) -> uvicorn.Server:
    """A server for `app` that is not started yet."""
    config = uvicorn.Config(
        app,
        lifespan="on",
        log_config=None,
        access_log=False,  # the log would contain the queries, which are private
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return uvicorn.Server(config)


def _bind_port(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host, port), family=family, backlog=BACKLOG)
        # asyncio sets this option only for sockets that name their protocol. Without it, the body of every response
        # but the first of a connection waits 40 ms for a delayed acknowledgement.
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return bound
    except OSError as error:
        cause = str(error.strerror).partition(" (while")[0]
        raise InputError(
            f"The server cannot listen on port {port} of {host} ({cause}).",
            "Choose another port with --port, or stop the program that uses this one.",
        ) from None


def _bind_path(path: Path) -> socket.socket:
    """Listen on a Unix socket at `path`. It replaces a socket of this user that no program uses."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.is_socket() and path.lstat().st_uid == os.geteuid() and not _is_listening(path):
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


def _is_listening(path: Path) -> bool:
    """Whether a program uses the Unix socket at `path`, even if it does not accept this connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:  # such as a datagram socket
            return True
    return True
