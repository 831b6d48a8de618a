"""The checks of every request before it is answered, and the security headers of every response.

A page of another web site can make a browser send requests to this server. The Host header reveals DNS rebinding, an
attack in which the name of another site resolves to this computer. The headers Origin and Sec-Fetch-Site tell which
site sent a request; programs other than browsers send neither. Requests through the Unix socket come from programs of
the same user, so they need neither a token nor a Host header.
"""

import hmac
from contextlib import suppress
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cdesearch.serve.problems import problem
from cdesearch.serve.settings import API, LOOPBACK_NAMES, ServeSettings

HEALTH = f"{API}/healthz"
DESCRIPTION = f"{API}/openapi.json"  # of the requests; it contains nothing of an index
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Middleware that refuses requests from other sites or without the token, and adds security headers."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store" if scope["path"].startswith("/api/") else "no-cache")
                message["headers"] = headers.raw
            await send(message)

        await (_refusal(scope, self._settings) or self._app)(scope, receive, send_guarded)


def _refusal(scope: Scope, settings: ServeSettings) -> Response | None:
    """The refusal of a request with a foreign host or origin, or without the token; None for other requests."""
    server = scope.get("server")
    if scope.get("client") is None and (server is None or server[1] is None):  # it came through a Unix socket
        return None
    headers = Headers(scope=scope)
    host = headers.get("host", "")
    if not _is_own_name(host, settings):
        cause = f"The server does not answer for the host {host:.80}."
        return problem(HTTPStatus.FORBIDDEN, cause, "Use localhost, an IP address, or the name that --host specifies.")
    if not _is_same_site(scope, headers, host):
        cause, remedy = "The request comes from another web site.", "Use the page of this server instead."
        return problem(HTTPStatus.FORBIDDEN, cause, remedy)
    if settings.token is not None and not _is_public(scope) and not _has_token(headers, settings.token):
        return problem(
            HTTPStatus.UNAUTHORIZED,
            "The request has no valid token.",
            "Send it as `Authorization: Bearer TOKEN`, or open the page with #token=TOKEN at the end of its address.",
            {"WWW-Authenticate": "Bearer"},
        )
    return None


def _is_own_name(host: str, settings: ServeSettings) -> bool:
    """Whether a Host header names this server.

    If other computers can connect, any IP address is accepted as well: DNS rebinding needs a host name.
    """
    with suppress(ValueError):
        name = (urlsplit(f"//{host}").hostname or "").removesuffix(".")
        is_own = name in LOOPBACK_NAMES or name == settings.host.lower()
        return is_own or (not settings.is_loopback and bool(ip_address(name)))
    return False


def _is_same_site(scope: Scope, headers: Headers, host: str) -> bool:
    """Whether a request comes from the page of this server, or from a program that is not a browser."""
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}"):
        return False
    if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return True
    # A link on another site may open the page, because the other site cannot read what the page shows.
    return scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate" and _is_public(scope)


def _is_public(scope: Scope) -> bool:
    path = scope["path"]
    return path in ("/", "/api", HEALTH, DESCRIPTION) or path.startswith("/static/")


def _has_token(headers: Headers, token: str) -> bool:
    kind, _, shown = headers.get("authorization", "").partition(" ")
    return kind.lower() == "bearer" and hmac.compare_digest(shown.strip().encode(), token.encode())
