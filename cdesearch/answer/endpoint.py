"""A language model behind an OpenAI-compatible HTTP API, as Ollama, llama.cpp, vLLM and many others provide it."""

import http.client
import ipaddress
import json
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

from cdesearch.errors import InputError, LanguageModelError

URL, MODEL, KEY = "CDESEARCH_LLM_URL", "CDESEARCH_LLM_MODEL", "CDESEARCH_LLM_KEY"  # environment variables
CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 180.0  # a model on a CPU may read a prompt for minutes before it writes the first word
MAX_CHARACTERS = 50_000  # a model that writes more is unlikely to stop
MAX_LINE_BYTES = 1_000_000
MAX_REASON = 200  # characters that are shown of the error message of a server

Message = Mapping[str, str]  # with the keys "role" and "content"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a language model. `key` is never shown and never stored."""

    host: str
    port: int
    path: str
    is_https: bool
    model: str
    key: str = field(default="", repr=False)
    silence_seconds: float = SILENCE_SECONDS

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
        if not host or parts.scheme not in ("http", "https") or re.search(r"[^\x21-\x7e]", url):
            raise InputError(
                "The URL of the language model is not valid.", "Use a URL such as http://127.0.0.1:11434/v1 (--llm)."
            )
        if parts.username is not None or parts.query or parts.fragment:
            raise InputError(  # the message does not contain the URL, because these parts may contain a key
                "The URL of the language model contains more than host, port and path.",
                f"If the server needs a key, set {KEY} in the environment.",
            )
        if not model:
            raise InputError("No language model is selected.", f"Name one with --llm-model or {MODEL}.")
        if not re.fullmatch(r"[\x21-\x7e]*", key):
            raise InputError(f"{KEY} contains characters that a key cannot have.", "Copy the key again.")
        path = parts.path.rstrip("/") or "/v1"
        path += "" if path.endswith("/chat/completions") else "/chat/completions"
        is_https = parts.scheme == "https"
        endpoint = cls(host, port or (443 if is_https else 80), path, is_https, model, key)
        if "://" not in url and not endpoint.is_local:
            raise InputError(
                "The URL of the language model has no scheme.", "Begin it with https:// or http:// (--llm)."
            )
        return endpoint

    @property
    def is_local(self) -> bool:
        """Whether the endpoint is on this machine, so that no text leaves it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def server(self) -> str:
        """The scheme, host and port of the endpoint, for messages."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_https else 'http'}://{host}:{self.port}"

    def connect(self) -> http.client.HTTPConnection:
        """Open a connection and return it; raises LanguageModelError. Proxies from the environment are not used."""
        connection = (
            http.client.HTTPSConnection(self.host, self.port, timeout=CONNECT_SECONDS)
            if self.is_https
            else http.client.HTTPConnection(self.host, self.port, timeout=CONNECT_SECONDS)
        )
        try:
            connection.connect()
        except TimeoutError:
            raise self.failure("does not accept connections", "Check --llm and the network.") from None
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", "") or error.reason
            raise self.failure(
                f"does not offer a secure connection ({reason})", "Check whether the URL of --llm needs http or https."
            ) from None
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise self.failure(
                f"cannot be reached ({reason})", "Start the server, or name another one with --llm."
            ) from None
        return connection

    def failure(self, what: str, remedy: str) -> LanguageModelError:
        """Return an error about this endpoint. It never contains the key, even if the server has repeated the key."""
        return LanguageModelError(self.without_key(f"The language model at {self.server} {what}."), remedy)

    def without_key(self, text: str) -> str:
        """Return `text` with the key replaced wherever it occurs."""
        return text.replace(self.key, "***") if self.key else text


def chosen_endpoint(url: str | None, model: str | None) -> Endpoint | None:
    """Return the endpoint that the options or the environment name; None if neither contains a URL.

    Options take precedence over environment variables, for the URL and for the model separately. The key always comes
    from the environment. Raises InputError.
    """
    url = url or os.environ.get(URL)
    if not url:
        if model:
            raise InputError("--llm-model needs the URL of a server.", f"Set the URL with --llm or {URL}.")
        return None
    return Endpoint.parse(url, model or os.environ.get(MODEL, ""), os.environ.get(KEY, ""))


class ChatStream:
    """The answer of a language model as a stream. Iterating sends the request and yields the pieces of the answer."""

    def __init__(self, endpoint: Endpoint, messages: Sequence[Message]) -> None:
        self._endpoint = endpoint
        self._request = {"model": endpoint.model, "messages": list(messages), "stream": True, "temperature": 0}
        self._socket: socket.socket | None = None
        self._is_closed = False
        self._is_silent = False
        self._waiting_since: float | None = None  # for text, by time.monotonic
        self._ended = threading.Event()
        self._length = 0

    def close(self) -> None:
        """Cancel the request. Any thread may call this method; an iteration in another thread ends at once."""
        self._is_closed = True
        self._shut_down()

    def _shut_down(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                # The method of the base class bypasses TLS, whose state belongs to the reading thread.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def __iter__(self) -> Iterator[str]:
        """Send the request and yield the pieces of the answer.

        Raises LanguageModelError if the model cannot be reached, fails, or stops before the end of its answer.
        """
        connection = self._endpoint.connect()
        try:
            self._socket = connection.sock
            self._socket.settimeout(self._endpoint.silence_seconds)
            self._waiting_since = time.monotonic()
            threading.Thread(target=self._end_when_silent, name="cdesearch-silence", daemon=True).start()
            if not self._is_closed:
                yield from self._pieces(connection)
        except (LanguageModelError, OSError, http.client.HTTPException, ValueError) as error:
            if not self._is_closed:
                raise self._explained(error) from None
        finally:
            self._ended.set()
            connection.close()

    def _end_when_silent(self) -> None:
        """End the request when no text has come for too long. The time limit of a socket starts again at every byte."""
        patience = self._endpoint.silence_seconds
        while not self._ended.wait(patience / 10):
            since = self._waiting_since
            if since is not None and time.monotonic() >= since + patience:
                self._is_silent = True
                self._shut_down()
                return

    def _explained(self, error: Exception) -> LanguageModelError:
        if self._is_silent or isinstance(error, TimeoutError):
            seconds = f"{self._endpoint.silence_seconds:g}"
            return self._failure(f"sent no text for {seconds} seconds", "Try again, or use a smaller --tokens.")
        if isinstance(error, LanguageModelError):
            return error
        return self._failure(f"closed the connection ({type(error).__name__})", "Check the log of the server.")

    def _pieces(self, connection: http.client.HTTPConnection) -> Iterator[str]:
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if self._endpoint.key:
            headers["Authorization"] = f"Bearer {self._endpoint.key}"
        connection.request("POST", self._endpoint.path, json.dumps(self._request).encode(), headers)
        with connection.getresponse() as response:
            if response.status != http.HTTPStatus.OK:
                raise self._refusal(response)
            kind = response.headers.get_content_type()
            if kind == "text/event-stream":
                yield from self._events(response)
            elif kind == "application/json":  # a server that does not stream
                yield self._piece(self._parsed(response.read(MAX_LINE_BYTES)))[0]
            else:
                what = f"responded with {kind:.40} instead of a stream of events"
                raise self._failure(what, "Check the path of --llm.")

    def _events(self, response: http.client.HTTPResponse) -> Iterator[str]:
        is_finished = False
        while line := response.readline(MAX_LINE_BYTES):
            name, _, data = line.partition(b":")
            data = data.strip()
            if name != b"data" or not data:
                continue
            if data == b"[DONE]":
                return
            piece, is_last = self._piece(self._parsed(data))
            is_finished |= is_last
            if piece:
                self._waiting_since = None  # the time that the reader of the answer takes does not count
                yield piece
                self._waiting_since = time.monotonic()
        if not is_finished and not self._is_closed:
            raise self._failure("stopped in the middle of its answer", "Check the log of the server.")

    def _parsed(self, data: bytes) -> Any:
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise self._failure(
                "sent a response that is not JSON", "Check that the server is OpenAI-compatible."
            ) from None

    def _piece(self, event: Any) -> tuple[str, bool]:
        """Return the text of an event, and whether the event is marked as the last one."""
        if isinstance(event, dict) and event.get("error"):
            raise self._failure(f"reports an error: {self._reason(event)}", "Check the log of the server.")
        try:
            choice: dict[str, Any] = next(iter(event["choices"]), {})
            message = choice.get("delta") or choice.get("message") or {}
            text = message.get("content") or ""
            is_last = bool(choice.get("finish_reason"))
            if not isinstance(text, str):
                raise TypeError
        except (KeyError, TypeError, AttributeError):
            raise self._failure("sent no chat completion", "Check that the server is OpenAI-compatible.") from None
        self._length += len(text)
        if self._length > MAX_CHARACTERS:
            raise self._failure(f"did not stop after {MAX_CHARACTERS:,} characters", "Choose another model.")
        return text.encode("utf-8", "replace").decode(), is_last  # JSON can contain one half of a surrogate pair

    def _refusal(self, response: http.client.HTTPResponse) -> LanguageModelError:
        status = f"HTTP {response.status}"
        if response.status in (401, 403):  # the body is not shown, because some servers repeat the key in it
            return self._failure(f"refused the key ({status})", f"Set a valid key in {KEY}.")
        if 300 <= response.status < 400:
            return self._failure(f"redirects to another address ({status})", "Use that address with --llm.")
        try:
            reason = self._reason(json.loads(response.read(MAX_LINE_BYTES)))
        except (ValueError, RecursionError):
            reason = response.reason
        what = f"refused the request ({status}: {reason})"
        if response.status == http.HTTPStatus.NOT_FOUND:
            return self._failure(what, f"Check --llm and --llm-model, which is {self._endpoint.model:.80}.")
        if response.status == http.HTTPStatus.TOO_MANY_REQUESTS:
            return self._failure(what, "Wait some seconds and ask again.")
        return self._failure(what, "Check the log of the server.")

    def _reason(self, event: Any) -> str:
        """Return the error message of a server in one line. The key is removed before the line is cut."""
        found = event.get("error", event) if isinstance(event, dict) else event
        if isinstance(found, dict):
            found = found.get("message") or found.get("detail") or ""
        line = self._endpoint.without_key(" ".join(str(found).split()))
        return line[:MAX_REASON].rstrip(".") or "no reason given"

    def _failure(self, what: str, remedy: str) -> LanguageModelError:
        return self._endpoint.failure(what, remedy)
