"""The connection to a Ray cluster, which may be one that runs on this machine for one build."""

import os
import re
import secrets
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any

from cdesearch.errors import ClusterError, InputError, extra_remedy
from cdesearch.slim_imports import allow_pandas

ADDRESS = re.compile(r"([\w-][\w.-]{0,252}|\[[0-9a-fA-F:.]+\])(?::(\d{1,5}))?", re.ASCII)
PORT = 6379  # of Ray, if an address names none
CONNECT_SECONDS = 10.0
CONNECTION_ERRORS = (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError)  # of Ray


def check_cluster(address: str | None, n_workers: int | None) -> None:
    """Raise InputError if a cluster cannot be used for a reason that shows without a connection, else ClusterError."""
    if find_spec("ray") is None:
        raise InputError("The engine ray is not installed.", extra_remedy("scale"))
    if n_workers is not None and n_workers < 1:
        raise InputError(f"{n_workers} workers cannot build an index.", "Choose --workers 1 or more.")
    if address is not None and address != "auto":
        try:
            socket.create_connection(host_and_port(address), CONNECT_SECONDS).close()
        except (OSError, UnicodeError) as error:
            raise unreachable(address, getattr(error, "strerror", None) or str(error)) from None


def check_head(ray: Any, address: str) -> None:
    """Raise ClusterError if the head of a cluster does not answer this process, or refuses it.

    `address` may be "auto", for which Ray also finds the private cluster of another build.
    """
    from ray._private.authentication.authentication_token_setup import maybe_enable_token_auth_if_token_available
    from ray._private.services import canonicalize_bootstrap_address_or_die

    try:
        if address == "auto":
            maybe_enable_token_auth_if_token_available(warn_if_disabled=False)  # as `ray.init` does
        ray._raylet.GcsClient(address=canonicalize_bootstrap_address_or_die(address))
    except (*CONNECTION_ERRORS, ray.exceptions.RayError) as error:
        raise unreachable(address, reason_of(error)) from None


def host_and_port(address: str) -> tuple[str, int]:
    """Raise InputError for what is not HOST or HOST:PORT."""
    found = ADDRESS.fullmatch(address)
    if found is None or int(found[2] or PORT) > 65_535:
        # The address may contain a password.
        raise InputError("--address is not the address of a Ray cluster.", "Write --address auto or HOST:PORT.")
    return found[1].strip("[]"), int(found[2] or PORT)


def reason_of(error: Exception) -> str:
    """The first line of an error of Ray, shortened."""
    return str(error).strip().partition("\n")[0][:200]


def unreachable(address: str, reason: str) -> ClusterError:
    """The error for a cluster that cannot be used."""
    if address == "auto":
        cause = "There is no Ray cluster on this machine."
    else:
        cause = f"No Ray cluster answers at {address} ({reason.rstrip('.')})."
    return ClusterError(
        cause,
        "Start one with `ray start --head`, name one as --address HOST:PORT, or omit it to use this machine alone.",
    )


OBJECT_STORE_BYTES = 256_000_000  # of a cluster on this machine: only the context and small results are in it
# Ray reads these when it is imported. Usage statistics would be sent to its makers.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_DEDUP_LOGS": "0"}
# Other users of this machine could otherwise run code in a cluster that was started here. The library keeps the token
# for as long as the process runs.
OWN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
UNLOGGED: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}


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
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = sys.stdout
    # Ray lets everybody write to its folder, so it is inside a private one.
    with TemporaryDirectory(prefix="cdesearch-ray-", ignore_cleanup_errors=True) as private:
        try:
            sys.stdout = sys.stderr  # a thread of Ray prints about workers that it replaces, which would precede JSON
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


def _start(ray: Any, n_workers: int | None, folder: str) -> None:
    from ray._private import ray_constants

    before = ray_constants.ENABLE_RAY_CLUSTER
    try:
        ray_constants.ENABLE_RAY_CLUSTER = False  # on Linux, Ray would replace 127.0.0.1
        ray.init(
            "local",
            num_cpus=n_workers or os.cpu_count() or 1,
            include_dashboard=False,
            object_store_memory=OBJECT_STORE_BYTES,
            _node_ip_address="127.0.0.1",
            _temp_dir=folder,
            **UNLOGGED,
        )
    except Exception as error:  # Ray raises Exception itself if one of its processes ends
        reason = reason_of(error).rstrip(".")
        cause = f"A Ray cluster cannot be started on this machine ({reason})."
        raise ClusterError(cause, "Leave --engine out.") from None
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


def _connect(ray: Any, address: str) -> None:
    if address != "auto":
        host, port = host_and_port(address)
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    check_head(ray, address)
    try:
        ray.init(address, **UNLOGGED)
    except CONNECTION_ERRORS as error:
        raise unreachable(address, reason_of(error)) from None
