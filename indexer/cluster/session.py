"""The connection to a Ray cluster, which may be one that runs on this machine for one build."""

import os
import secrets
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any, TextIO, cast

from cdesearch.errors import ClusterError
from cdesearch.slim_imports import allow_pandas
from indexer.cluster.address import CONNECTION_ERRORS, check_head, host_and_port, reason_of, unreachable

OBJECT_STORE_BYTES = 256_000_000  # of a cluster on this machine: only the context and small results are in it
# Ray reads these when it is imported. Usage statistics would be sent to its makers.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_DEDUP_LOGS": "0"}
# Other users of this machine could otherwise run code in a cluster that was started here. The library keeps the token
# for as long as the process runs.
OWN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
UNLOGGED: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
LOOPBACK = "127.0.0.1"
LISTENER = "ray_listen_error_messages"
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Session:
    """A connection to a cluster."""

    n_workers: int  # tasks that run at the same time
    n_gpus: int


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
    before = sys.stdout
    # Ray lets everybody write to its folder, so it is inside a private one.
    with TemporaryDirectory(prefix="cdesearch-ray-", ignore_cleanup_errors=True) as private:
        try:
            sys.stdout = cast(TextIO, _WithoutRay(before))
            if address is None:
                _start(ray, n_workers, f"{private}/ray")
            else:
                _connect(ray, address)
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


def _start(ray: Any, n_workers: int | None, folder: str) -> None:
    try:
        with _keeping_loopback():
            ray.init(
                "local",
                num_cpus=n_workers or os.cpu_count() or 1,
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                _node_ip_address=LOOPBACK,
                _temp_dir=folder,
                **UNLOGGED,
            )
    except Exception as error:  # Ray raises Exception itself if one of its processes ends
        reason = reason_of(error).rstrip(".")
        cause = f"A Ray cluster cannot be started on this machine ({reason})."
        raise ClusterError(cause, "Leave --engine out.") from None


def _connect(ray: Any, address: str) -> None:
    if address != "auto":
        host, port = host_and_port(address)
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    check_head(ray, address)
    try:
        ray.init(address, **UNLOGGED)
    except CONNECTION_ERRORS as error:
        raise unreachable(address, reason_of(error)) from None


@contextmanager
def _keeping_loopback() -> Iterator[None]:
    """Let Ray listen at 127.0.0.1, which it replaces on Linux by the address of this machine on the network."""
    from ray._private import ray_constants

    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
