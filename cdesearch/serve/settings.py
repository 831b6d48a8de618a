"""The settings of a server, chosen when it starts."""

import re
from dataclasses import dataclass, field
from ipaddress import ip_address

from cdesearch.errors import InputError

API = "/api/v1"  # the path of every resource
DEFAULT_PORT = 7878
_DURATION = re.compile(r"(\d{1,6})([smh])")
_SECONDS = {"s": 1, "m": 60, "h": 3600}
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Where a server listens, who may ask it, and how much it does at once."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT  # 0: any that is free
    token: str | None = field(default=None, repr=False)  # that every request must show
    running: int = 4  # searches at the same time
    waiting: int = 64  # searches that wait for one of them to end; the next one is refused
    search_seconds: float = 30.0  # after which a search is given up
    header_seconds: float = 10.0  # in which a client must send the head of a request
    body_seconds: float = 20.0  # in which it must send the rest
    max_body: int = 1_000_000  # bytes
    max_url: int = 8_000  # bytes of path and query
    max_connections: int = 256
    watch: bool = False  # whether an index is updated when its files change
    idle_seconds: float | None = None  # without a request, after which the server ends; None: never

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this computer can connect."""
        if self.host in LOOPBACK_NAMES:
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False


def seconds_of(duration: str) -> float:
    """The seconds in a text such as "90s", "30m" or "2h"; raises InputError."""
    found = _DURATION.fullmatch(duration)
    if found is None or int(found[1]) == 0:
        raise InputError(f"{duration:.40} is not a duration.", "Write for example 90s, 30m or 2h.")
    return float(int(found[1]) * _SECONDS[found[2]])
