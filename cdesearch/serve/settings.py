"""The settings of a server, which are fixed when it starts, and the libraries that it needs."""

import importlib.util
import re
from dataclasses import dataclass, field

from cdesearch.errors import InputError, extra_remedy

API = "/api/v1"  # the start of the path of every resource
DEFAULT_PORT = 7878
LIBRARIES = ("fastapi", "uvicorn")  # of the extra `serve`
_DURATION = re.compile(r"(\d{1,6})([smh])")
_SECONDS = {"s": 1, "m": 60, "h": 3600}
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """The addresses, the access control and the limits of a server."""

    host: str = "127.0.0.1"
    port: int | None = DEFAULT_PORT  # 0 selects a free port; None: only commands of this user connect, by a socket
    token: str | None = field(default=None, repr=False)  # if set, every request over TCP must contain it
    running: int = 4  # the maximum number of searches that run at the same time
    drawing: int = 2  # the maximum number of pages and images that are drawn or read at the same time
    waiting: int = 64  # the maximum number of searches that wait; further ones are refused
    search_seconds: float = 30.0  # the time limit of a search
    watch: bool | None = False  # whether indexes are updated when their files change; None: those that a query updates
    idle_seconds: float | None = None  # the server stops after this time without a request; None disables this

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this computer can connect to `host`."""
        from cdesearch.api_server import is_loopback  # imports asyncio, which `--help` does without

        return is_loopback(self.host)


def seconds_of(duration: str) -> float:
    """The number of seconds in a duration such as "90s", "30m" or "2h"; raises InputError."""
    found = _DURATION.fullmatch(duration)
    if found is None or int(found[1]) == 0:
        raise InputError(f"{duration:.40} is not a duration.", "Use a form such as 90s, 30m or 2h.")
    return float(int(found[1]) * _SECONDS[found[2]])


def require_libraries() -> None:
    """Raise InputError if the extra `serve` is not installed."""
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"{missing[0]} is not installed.", extra_remedy("serve"))
