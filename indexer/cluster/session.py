"""The connection to a Ray cluster, which may be one that runs on this machine for one build."""

import os
import re
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO, cast

from cdesearch.errors import ClusterError, InputError
from cdesearch.slim_imports import allow_pandas

ADDRESS = re.compile(r"([\w-][\w.-]{0,252}|\[[0-9a-fA-F:.]+\])(?::(\d{1,5}))?", re.ASCII)
PORT = 6379  # of Ray, if an address names none
CONNECT_SECONDS = 10.0
OBJECT_STORE_BYTES = 256_000_000  # of a cluster on this machine: only the context and small results are in it
NEEDED = ("ray", "lance_ray", "lance")
# Ray reads these when it is imported. Usage statistics would be sent to its makers.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_DEDUP_LOGS": "0"}
# Other users of this machine could otherwise run code in a cluster that was started here. The library keeps the token
# for as long as the process runs.
# On Linux, Ray would also replace 127.0.0.1 by the address of this machine on the network, and listen there.
OWN = {
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
# Ray speaks gRPC, and so HTTP/2: both sides begin with a frame of settings, whose fourth byte is its kind.
HTTP2_SETTINGS = b"\x04"
HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + HTTP2_SETTINGS + b"\0\0\0\0\0"
OWN_FOLDER = re.compile(r"cdesearch-ray-(\d+)-\w+")  # with the number of the process that made it
LISTENER = "ray_listen_error_messages"
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Session:
    """A connection to a cluster."""

    n_workers: int  # tasks that run at the same time
    n_gpus: int


def check_cluster(address: str | None, n_workers: int | None) -> None:
    """Raise InputError if a cluster cannot be used for a reason that shows without a connection, else ClusterError.

    A wrong address is reported at once: Ray itself tries for minutes.
    """
    if any(find_spec(name) is None for name in NEEDED):
        raise InputError("The engine ray is not installed.", "Run `pip install 'cdesearch[scale]'`.")
    if n_workers is not None and n_workers < 1:
        raise InputError(f"{n_workers} workers cannot build an index.", "Choose --workers 1 or more.")
    if address in (None, "auto"):
        return
    host, port = _host_and_port(str(address))
    try:
        with socket.create_connection((host, port), CONNECT_SECONDS) as connection:
            if os.environ.get("RAY_USE_TLS", "0") != "0":  # then both sides begin with other bytes
                return
            connection.settimeout(CONNECT_SECONDS)
            connection.sendall(HTTP2_GREETING)
            answer = connection.recv(len(HTTP2_GREETING))
    except (OSError, UnicodeError) as error:
        raise _unreachable(str(address), getattr(error, "strerror", None) or str(error)) from None
    if answer[3:4] != HTTP2_SETTINGS:
        raise _unreachable(str(address), "another kind of server is there")


@contextmanager
def connected(address: str | None, n_workers: int | None) -> Iterator[Session]:
    """Connect to the cluster at `address`, "auto" for that of this machine, or start one here; raises ClusterError.

    A cluster that was started here ends with the block, and if this process is killed.
    """
    # Ray reads the token when it is imported. If the caller has done that, Ray makes a token of its own.
    for name, value in (QUIET if address or "ray" in sys.modules else QUIET | OWN).items():
        os.environ.setdefault(name, value)
    allow_pandas()  # ray looks for it
    import ray as installed

    ray: Any = installed
    if ray.is_initialized():
        raise ClusterError(
            "This process is already connected to a Ray cluster.",
            "Call `ray.shutdown()` first, or use another process.",
        )
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    folder, before = None if address else _own_folder(), sys.stdout
    try:
        sys.stdout = cast(TextIO, _WithoutRay(before))
        _connect(ray, address, n_workers, folder)
        for number, handler in handlers.items():  # Ray replaces that of SIGTERM
            with suppress(ValueError):  # not in the main thread
                signal.signal(number, handler)
        resources = ray.cluster_resources()
        n_cores = max(1, int(resources.get("CPU", 1)))
        # More workers than cores would wait for one for ever.
        yield Session(min(n_workers or n_cores, n_cores), int(resources.get("GPU", 0)))
    finally:
        ray.shutdown()
        sys.stdout = before
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _own_folder() -> str:
    """A new private folder. Those that killed processes of this user have left behind are removed."""
    for found in Path(tempfile.gettempdir()).glob("cdesearch-ray-*"):
        if (made_by := OWN_FOLDER.fullmatch(found.name)) and not found.is_symlink() and _is_left(found, made_by[1]):
            shutil.rmtree(found, ignore_errors=True)
    return tempfile.mkdtemp(prefix=f"cdesearch-ray-{os.getpid()}-")


def _is_left(folder: Path, process: str) -> bool:
    """Whether a folder belongs to this user, and the process that made it has ended."""
    if os.name == "nt" or folder.lstat().st_uid != os.geteuid():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


class _WithoutRay:
    """An output stream without the lines that a thread of Ray prints about workers that it replaces.

    Ray has no option for this, and the lines would precede the JSON of a command.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        if threading.current_thread().name == LISTENER:
            return len(text)
        return int(self._stream.write(text))


def _connect(ray: Any, address: str | None, n_workers: int | None, folder: str | None) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
    if address is None:
        cores = os.cpu_count() or 1
        options |= {"address": "local", "num_cpus": n_workers or cores, "include_dashboard": False}
        options["_node_ip_address"] = "127.0.0.1"
        # Ray lets everybody write to its folder, so it is inside a private one.
        options |= {"object_store_memory": OBJECT_STORE_BYTES, "_temp_dir": f"{folder}/ray"}
    elif address == "auto":
        options["address"] = "auto"
    else:
        host, port = _host_and_port(address)
        options["address"] = f"{host}:{port}"
    try:
        ray.init(**options)
    except (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError) as error:
        reason = str(error).strip().partition("\n")[0][:200]
        raise _unreachable(address, reason) if address else _not_started(reason) from None


def _not_started(reason: str) -> ClusterError:
    return ClusterError(
        f"A Ray cluster cannot be started on this machine ({reason.rstrip('.')}).", "Leave --engine out."
    )


def _host_and_port(address: str) -> tuple[str, int]:
    found = ADDRESS.fullmatch(address)
    if found is None or int(found[2] or PORT) > 65_535:
        # The address may contain a password.
        raise InputError("--address is not the address of a Ray cluster.", "Write --address auto or HOST:PORT.")
    return found[1].strip("[]"), int(found[2] or PORT)


def _unreachable(address: str, reason: str) -> ClusterError:
    if address == "auto":
        cause = "There is no Ray cluster on this machine."
    else:
        cause = f"No Ray cluster answers at {address} ({reason.rstrip('.')})."
    return ClusterError(
        cause, "Start one with `ray start --head`, correct --address, or leave it out to use this machine alone."
    )
