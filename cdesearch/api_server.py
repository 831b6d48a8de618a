"""The address of an OpenAI-compatible HTTP API, as Ollama, llama.cpp, vLLM and many others provide it."""

import asyncio
import ipaddress
import json
import os
import re
import ssl
import threading
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self
from urllib.parse import urlsplit

from cdesearch.errors import CdesearchError, InputError

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 10.0
CHECK_LOG = "Check the log of the server."
MAX_REASON = 200  # characters that are shown of the error message of a server


@cache
def event_loop() -> asyncio.AbstractEventLoop:
    """The event loop of all requests of this process, in a thread of its own: there, a request can be cancelled."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="cdesearch-requests", daemon=True).start()
    return loop


def is_loopback(host: str) -> bool:
    """Whether `host` names this computer."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class ApiServer:
    """The address of a model on a server. `key` is never shown and never stored.

    A subclass says which kind of model it is, and by which options and environment variable the user chooses it.
    Redirects are never followed, and proxies from the environment are not used, so the key reaches no other host.
    """

    kind: ClassVar[str]  # such as "language model"
    option: ClassVar[str]  # that names the URL
    model_options: ClassVar[str]  # that name the model
    key_variable: ClassVar[str]  # in the environment
    path_of_requests: ClassVar[str]  # after the path of the URL
    error: ClassVar[type[CdesearchError]]

    host: str
    port: int
    path: str
    is_https: bool
    model: str
    key: str = field(default="", repr=False)

    @classmethod
    def parse(cls, url: str, model: str, key: str = "") -> Self:
        """Parse a base URL such as `http://127.0.0.1:11434/v1`; raises InputError.

        If the URL has no path, the path is `/v1`. Only an address of this machine may lack its scheme, because a
        mistyped name must not send documents to another host without encryption.
        """
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host or port == 0 or parts.scheme not in ("http", "https") or re.search(r"[^\x21-\x7e]", url):
            raise InputError(
                f"The URL of the {cls.kind} is not valid.",
                f"Use a URL such as http://127.0.0.1:11434/v1 ({cls.option}).",
            )
        if parts.username is not None or parts.query or parts.fragment:
            raise InputError(  # the message does not contain the URL, because these parts may contain a key
                f"The URL of the {cls.kind} contains more than host, port and path.",
                f"If the server needs a key, set {cls.key_variable} in the environment.",
            )
        if not model:
            raise InputError(f"No {cls.kind} is selected.", f"Name one with {cls.model_options}.")
        if not re.fullmatch(r"[\x21-\x7e]*", key):
            raise InputError(f"{cls.key_variable} contains characters that a key cannot have.", "Copy the key again.")
        path = parts.path.rstrip("/") or "/v1"
        path += "" if path.endswith(cls.path_of_requests) else cls.path_of_requests
        is_https = parts.scheme == "https"
        server = cls(host, port or (443 if is_https else 80), path, is_https, model, key)
        if "://" not in url and not server.is_local:
            raise InputError(
                f"The URL of the {cls.kind} has no scheme.", f"Begin it with https:// or http:// ({cls.option})."
            )
        return server

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine, so that no text leaves it."""
        return is_loopback(self.host)

    @property
    def server(self) -> str:
        """The scheme, host and port, for messages."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_https else 'http'}://{host}:{self.port}"

    @property
    def url(self) -> str:
        return self.server + self.path

    @property
    def authorization(self) -> dict[str, str]:
        """The header with the key; empty without a key."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def client(self) -> "httpx.AsyncClient":
        """A client of this server, which follows no redirects and has the certificates of this computer."""
        import httpx  # imported late: most commands ask no server

        return httpx.AsyncClient(
            headers=self.authorization,
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),  # callers limit the time of a whole answer
            verify=ssl.create_default_context(),
            trust_env=False,
        )

    def broken(self, error: Exception) -> CdesearchError:
        """The error to raise if a request of `client` raised `error`, a transport error of httpx."""
        cause: BaseException = error
        while origin := cause.__cause__ or cause.__context__:  # the first one is the system's
            cause = origin
        if type(error).__name__ == "ConnectTimeout":
            return self.failure("does not accept connections", f"Check {self.option} and the network.")
        if isinstance(cause, ssl.SSLError):
            reason = getattr(cause, "verify_message", "") or cause.reason
            return self.failure(
                f"does not offer a secure connection ({reason})",
                f"Check whether the URL of {self.option} needs http or https.",
            )
        if type(error).__name__ == "ConnectError":
            number = getattr(cause, "errno", None) or 0
            reason = os.strerror(number) if number > 0 else getattr(cause, "strerror", None) or str(error)
            return self.failure(
                f"cannot be reached ({reason})", f"Start the server, or name another one with {self.option}."
            )
        return self.failure(f"closed the connection ({type(error).__name__})", CHECK_LOG)

    def failure(self, what: str, remedy: str) -> CdesearchError:
        """An error about this server. It never contains the key, even if the server has repeated the key."""
        return self.error(self.without_key(f"The {self.kind} at {self.server} {what}."), remedy)

    def refusal(self, status: int) -> CdesearchError | None:
        """The error for a status that is about the key or the address; None for another one."""
        if status in (401, 403):  # the body is not shown, because some servers repeat the key in it
            return self.failure(f"refused the key (HTTP {status})", f"Set a valid key in {self.key_variable}.")
        if 300 <= status < 400:
            return self.failure(
                f"redirects to another address (HTTP {status})", f"Use that address with {self.option}."
            )
        return None

    def reason(self, answer: Any) -> str:
        """The error message in the parsed answer of a server, in one line and without the key."""
        found = answer.get("error", answer) if isinstance(answer, dict) else answer
        if isinstance(found, dict):
            found = found.get("message") or found.get("detail") or ""
        line = self.without_key(" ".join(str(found).split()))  # before the line is cut
        return line[:MAX_REASON].rstrip(".") or "no reason given"

    def reason_in(self, body: bytes, otherwise: str) -> str:
        """The error message in the body of an answer, or `otherwise` if the body is not JSON."""
        try:
            return self.reason(json.loads(body))
        except (ValueError, RecursionError):
            return otherwise

    def without_key(self, text: str) -> str:
        """`text` with the key replaced wherever it occurs."""
        return text.replace(self.key, "***") if self.key else text
