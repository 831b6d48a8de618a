"""The checks of every request before it is answered, and the security headers of every response.

A page of another web site can make a browser send requests to this server. The Host header reveals DNS rebinding, an
attack in which the name of another site resolves to this computer. The headers Origin and Sec-Fetch-Site tell which
site sent a request; programs other than browsers send neither. Requests through the Unix socket come from programs of
the same user, so they need neither a token nor a Host header.
"""

import asyncio
import hmac
import logging
from collections.abc import MutableMapping
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cdesearch.serve.problems import problem
from cdesearch.serve.settings import API, LOOPBACK_NAMES, ServeSettings

HEALTH = f"{API}/healthz"
DESCRIPTION = f"{API}/openapi.json"  # of the requests; it contains nothing of an index
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_CLOSE = {"Connection": "close"}  # a refused request is not read to its end


class Guard:
    """Middleware that refuses requests from other sites, without the token, or too large, and adds security headers."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                _add_headers(message, scope["path"])
            await send(message)

        refusal = _refusal_of_size(scope, self._settings) or _refusal_of_origin(scope, self._settings)
        body = refusal or await _read_body(scope, receive, self._settings)
        if isinstance(body, Response):
            await body(scope, receive, send_guarded)
            return
        try:
            await self._app(scope, receive if body is None else _replay(body, receive), send_guarded)
        except Exception as error:
            logging.getLogger(__name__).exception("A request failed.")
            if started:
                raise
            await _defect(error)(scope, receive, send_guarded)


def _add_headers(message: MutableMapping[str, Any], path: str) -> None:
    headers = MutableHeaders(raw=message["headers"])
    for name, value in HEADERS.items():
        headers[name] = value
    headers.setdefault("Cache-Control", "no-store" if path.startswith("/api/") else "no-cache")
    message["headers"] = headers.raw


def _refusal_of_size(scope: Scope, settings: ServeSettings) -> Response | None:
    """Return the refusal of a request whose address or announced body is too large; None for other requests."""
    if len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"]) > settings.max_url:
        limit = f"The address is longer than {settings.max_url:,} bytes."
        return problem(HTTPStatus.REQUEST_URI_TOO_LONG, limit, "Shorten the query, or send several requests.", _CLOSE)
    length = Headers(scope=scope).get("content-length", "0")
    return _body_too_large(settings) if not length.isdecimal() or int(length) > settings.max_body else None


def _body_too_large(settings: ServeSettings) -> Response:
    limit = f"The body is larger than {settings.max_body:,} bytes."
    return problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, limit, "Send a smaller body.", _CLOSE)


def _refusal_of_origin(scope: Scope, settings: ServeSettings) -> Response | None:
    """Return the refusal of a request with a foreign host or origin, or without the token; None for other requests."""
    if _is_local(scope):
        return None
    headers = Headers(scope=scope)
    host = headers.get("host", "")
    if not _is_own_name(host, settings):
        return problem(
            HTTPStatus.FORBIDDEN,
            f"The server does not answer for the host {host:.80}.",
            "Use localhost, an IP address, or the name that --host specifies.",
            _CLOSE,
        )
    if not _is_same_site(scope, headers, host):
        return problem(
            HTTPStatus.FORBIDDEN,
            "The request comes from another web site.",
            "Use the page of this server instead.",
            _CLOSE,
        )
    if settings.token is not None and not _is_public(scope) and not _has_token(headers, settings.token):
        return problem(
            HTTPStatus.UNAUTHORIZED,
            "The request has no valid token.",
            "Send it as `Authorization: Bearer TOKEN`, or open the page with #token=TOKEN at the end of its address.",
            _CLOSE | {"WWW-Authenticate": "Bearer"},
        )
    return None


def _is_local(scope: Scope) -> bool:
    """Return whether the request came through a Unix socket, which has neither a port nor client addresses."""
    server = scope.get("server")
    return scope.get("client") is None and (server is None or server[1] is None)


def _is_own_name(host: str, settings: ServeSettings) -> bool:
    """Return whether a Host header names this server.

    If other computers can connect, any IP address is accepted as well: DNS rebinding needs a host name.
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").removesuffix(".")
    except ValueError:
        return False
    if settings.is_loopback:
        return name in LOOPBACK_NAMES or name == settings.host.lower()
    try:
        ip_address(name)
    except ValueError:
        return name in LOOPBACK_NAMES or name == settings.host.lower()
    return True


def _is_same_site(scope: Scope, headers: Headers, host: str) -> bool:
    """Return whether a request comes from the page of this server, or from a program that is not a browser."""
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


async def _read_body(scope: Scope, receive: Receive, settings: ServeSettings) -> bytes | Response | None:
    """Read the body of a request; None if there is none.

    Returns a refusal instead if the body is too large or does not arrive in time.
    """
    headers = Headers(scope=scope)
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return None
    parts, size = [], 0
    try:
        async with asyncio.timeout(settings.body_seconds):
            while True:
                message = await receive()
                part = message.get("body", b"")
                parts.append(part)
                size += len(part)
                if size > settings.max_body:
                    return _body_too_large(settings)
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        late = f"The body did not arrive in {settings.body_seconds:g} seconds."
        return problem(HTTPStatus.REQUEST_TIMEOUT, late, "Send the request again.", _CLOSE)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a receive function that first yields `body`, which has already been read, and then calls `receive`."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed


def _defect(error: Exception) -> Response:
    return problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        f"This is a defect of cdesearch: {type(error).__name__}.",
        "Please report it with the traceback that the server printed.",
    )
