"""The connection to a Ray cluster, which may be one that runs on this machine for one build."""

import os
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
from typing import Any, TextIO, cast

from cdesearch.errors import ClusterError, InputError
from cdesearch.slim_imports import allow_pandas

PORT = 6379  # of Ray, if an address names none
CONNECT_SECONDS = 10.0
OBJECT_STORE_BYTES = 256_000_000  # of a cluster on this machine: only the context and small results are in it
NEEDED = ("ray", "lance_ray", "lance")
# Ray reads these when it is imported. Usage statistics would be sent to its makers.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_DEDUP_LOGS": "0"}
# Other users of this machine could otherwise run code in a cluster that was started here. The library keeps the token
# for as long as the process runs.
OWN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
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
        socket.create_connection((host, port), CONNECT_SECONDS).close()
    except OSError as error:
        raise _unreachable(str(address), error.strerror or str(error)) from None


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
    folder, before = None if address else tempfile.mkdtemp(prefix="cdesearch-ray-"), sys.stdout
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
        options["_node_ip_address"] = "127.0.0.1"  # nothing listens on the network
        options |= {"object_store_memory": OBJECT_STORE_BYTES, "_temp_dir": folder}
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
    host, has_port, port = address.rpartition(":")
    if not has_port:
        return address, PORT
    if not port.isdecimal():
        raise InputError(f"{address} is not the address of a Ray cluster.", "Write --address auto or HOST:PORT.")
    return host, int(port)


def _unreachable(address: str, reason: str) -> ClusterError:
    if address == "auto":
        cause = "There is no Ray cluster on this machine."
    else:
        cause = f"No Ray cluster answers at {address} ({reason.rstrip('.')})."
    return ClusterError(
        cause, "Start one with `ray start --head`, correct --address, or leave it out to use this machine alone."
    )
