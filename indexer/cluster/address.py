"""The address of a Ray cluster, and quick checks that a cluster can be used. Ray itself tries for minutes."""

import os
import re
import socket
from importlib.util import find_spec
from typing import Any

from cdesearch.errors import ClusterError, InputError

ADDRESS = re.compile(r"([\w-][\w.-]{0,252}|\[[0-9a-fA-F:.]+\])(?::(\d{1,5}))?", re.ASCII)
PORT = 6379  # of Ray, if an address names none
CONNECT_SECONDS = 10.0
CONNECTION_ERRORS = (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError)  # of Ray
# Ray speaks gRPC, and so HTTP/2: both sides begin with a frame of settings, whose fourth byte is its kind.
HTTP2_SETTINGS = b"\x04"
HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + HTTP2_SETTINGS + b"\0\0\0\0\0"


def check_cluster(address: str | None, n_workers: int | None) -> None:
    """Raise InputError if a cluster cannot be used for a reason that shows without a connection, else ClusterError."""
    if find_spec("ray") is None:
        raise InputError("The engine ray is not installed.", "Run `pip install 'cdesearch[scale]'`.")
    if n_workers is not None and n_workers < 1:
        raise InputError(f"{n_workers} workers cannot build an index.", "Choose --workers 1 or more.")
    if address in (None, "auto"):
        return
    _check_answer(str(address), *host_and_port(str(address)))


def _check_answer(address: str, host: str, port: int) -> None:
    """Raise ClusterError for `address` if no server that speaks HTTP/2 answers."""
    try:
        with socket.create_connection((host, port), CONNECT_SECONDS) as connection:
            if os.environ.get("RAY_USE_TLS", "0") != "0":  # then both sides begin with other bytes
                return
            connection.settimeout(CONNECT_SECONDS)
            connection.sendall(HTTP2_GREETING)
            answer = connection.recv(len(HTTP2_GREETING))
    except (OSError, UnicodeError) as error:
        raise unreachable(address, getattr(error, "strerror", None) or str(error)) from None
    if answer[3:4] != HTTP2_SETTINGS:
        raise unreachable(address, "another kind of server is there")


def check_head(ray: Any, address: str) -> None:
    """Raise ClusterError if the head of a cluster does not answer this process, or refuses it.

    `address` may be "auto", for which Ray also finds the private cluster of another build.
    """
    from ray._private.authentication.authentication_token_setup import maybe_enable_token_auth_if_token_available
    from ray._private.services import canonicalize_bootstrap_address_or_die

    try:
        if address == "auto":
            maybe_enable_token_auth_if_token_available(warn_if_disabled=False)  # as `ray.init` does
        found = canonicalize_bootstrap_address_or_die(address)
        _check_answer(address, *host_and_port(found))
        ray._raylet.GcsClient(address=found)
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
