"""Announce a server to other commands, start it in the background, and stop it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cdesearch import __version__
from cdesearch.child_process import python_module, same_modules, start_detached
from cdesearch.cli.exits import print_error
from cdesearch.errors import CdesearchError, IndexNotFoundError
from cdesearch.service import running_server
from cdesearch.store.place import Place
from cdesearch.store.server_address import (
    ServerRecord,
    is_starting,
    log_of,
    make_runtime_folder,
    read_record,
    remove_record,
    socket_of,
    write_record,
)
from cdesearch.terminal import printable

if TYPE_CHECKING:
    from cdesearch.serve.indexes import ServedIndexes

TOKEN = "CDESEARCH_TOKEN"  # the environment variable that replaces the option --token
START_SECONDS = 120.0  # loading a large model from a slow disk takes tens of seconds
STOP_SECONDS = 40.0  # must be longer than GRACE_SECONDS in server.py
POLL_SECONDS = 0.05
ERROR = "error: "  # the start of the line that a failing command prints


@contextmanager
def announced(indexes: "ServedIndexes", address: str, named: Path | None, token: str | None) -> Iterator[None]:
    """Let other commands find this server, which already listens at `address`, while the block runs.

    `named` is the Unix socket, or None if the server listens on the default socket of each index. An index that
    another server has already announced keeps that server. Raises StorageError.
    """
    folders = [served.index.place for served in indexes if running_server(served.index.place) is None]
    try:
        for served in indexes:
            if served.index.place in folders:
                write_record(served.index.place, _record(served.index.place, served.name, address, named, token))
        yield
    finally:
        for folder in folders:
            found = read_record(folder)
            if found is not None and found.pid == os.getpid():
                remove_record(folder)


def start_in_background(folders: Sequence[Place], arguments: Sequence[str], token: str | None) -> str:
    """Start `cdesearch serve` with `arguments` in a separate process, and return a line with its address.

    Returns when the server answers requests, or immediately if every index in `folders` already has a server. If the
    start fails, the error message of the server is printed, and SystemExit is raised. Raises CdesearchError if the
    server does not answer in time or ends without an error message.
    """
    running = [running_server(folder) for folder in folders]
    if all(running) and running[0] is not None:
        return (
            f"A server of {_names(folders)} is already running {where(running[0].address)} (process {running[0].pid})."
        )
    make_runtime_folder()
    log = log_of(folders[0])
    # Every user of the machine could see a token among the arguments.
    environment = same_modules() | ({} if token is None else {TOKEN: token})
    process = start_detached(python_module("cdesearch", "serve", *arguments), log, environment)
    try:
        free = next(folder for folder, record in zip(folders, running, strict=True) if record is None)
        record = _wait_until_it_answers(process, free)
    except BaseException:
        process.kill()
        process.wait()
        raise
    if record is None:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        error = next((line.removeprefix(ERROR) for line in reversed(lines) if line.startswith(ERROR)), None)
        if error is not None:
            raise SystemExit(print_error(error, process.returncode))
        raise CdesearchError(
            f"The server ended while it started (exit code {process.returncode}).", f"Its output is in {log}."
        )
    return f"Serving {_names(folders)} {where(record.address)} in the background (process {record.pid})."


def where(address: str) -> str:
    """Where a server listens, as a part of a sentence."""
    return f"at {address}" if address else "to your own commands"


def stop_kept(folders: Sequence[Place]) -> None:
    """Stop the servers of these indexes that listen on no port, as queries start them, before another one starts."""
    for folder in folders:
        record = _begun(folder)
        if record is not None and not record.address:
            stop_server(folder)


def _begun(folder: Place) -> ServerRecord | None:
    """The record of the server of an index, also of one that is just starting."""
    while (record := running_server(folder)) is None and is_starting(folder):
        time.sleep(POLL_SECONDS)
    return record


def stop_server(folder: Place) -> str:
    """Stop the server of the index in `folder` once it has finished its running requests, and return a line about it.

    Raises CdesearchError if the server does not stop in time, and IndexNotFoundError if there is neither a server nor
    an index.
    """
    record = _begun(folder)
    if record is None:
        if isinstance(folder, Path) and not folder.exists():
            raise IndexNotFoundError(f"There is no index in {printable(str(folder))}.", "Check the spelling.")
        return f"No server is running for {_names([folder])}."
    with suppress(ProcessLookupError):
        os.kill(record.pid, signal.SIGTERM)  # on Windows the process ends at once, without removing its files
    deadline = time.monotonic() + STOP_SECONDS
    while sys.platform != "win32" and (
        read_record(folder) == record or (record.socket is not None and os.path.lexists(record.socket))
    ):
        if time.monotonic() > deadline:
            raise CdesearchError(
                f"The server (process {record.pid}) is still answering requests.", "Wait, or kill the process."
            )
        time.sleep(POLL_SECONDS)
    if sys.platform == "win32":
        remove_record(folder)
    return f"Stopped the server of {_names([folder])} (process {record.pid})."


def _record(folder: Place, name: str, address: str, named: Path | None, token: str | None) -> ServerRecord:
    is_windows = sys.platform == "win32"
    return ServerRecord(
        pid=os.getpid(),
        version=__version__,
        name=name,
        address=address,
        socket=None if is_windows else str(socket_of(folder) if named is None else named.absolute()),
        token=token if is_windows else None,
    )


def _wait_until_it_answers(process: "subprocess.Popen[bytes]", folder: Place) -> ServerRecord | None:
    """Wait until the server answers, and return its record; None if its process has ended.

    Raises CdesearchError if the server does not answer within START_SECONDS.
    """
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None:
        record = running_server(folder)
        if record is not None:
            return record
        if time.monotonic() > deadline:
            raise CdesearchError(
                f"The server did not start in {START_SECONDS:g} seconds.",
                "Start it without --background to see what it does.",
            )
        time.sleep(POLL_SECONDS)
    return None


def _names(folders: Sequence[Place]) -> str:
    return ", ".join(printable(str(folder)) for folder in folders)
