"""A language model behind an OpenAI-compatible HTTP API, as Ollama, llama.cpp, vLLM and many others provide it."""

import http.client
import json
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from cdesearch.api_server import ApiServer
from cdesearch.errors import CdesearchError, InputError, LanguageModelError

URL, MODEL, KEY = "CDESEARCH_LLM_URL", "CDESEARCH_LLM_MODEL", "CDESEARCH_LLM_KEY"  # environment variables
SILENCE_SECONDS = 180.0  # a model on a CPU may read a prompt for minutes before it writes the first word
MAX_CHARACTERS = 50_000  # a model that writes more is unlikely to stop
MAX_LINE_BYTES = 1_000_000

Message = Mapping[str, str]  # with the keys "role" and "content"


@dataclass(frozen=True, slots=True)
class Endpoint(ApiServer):
    """The address of a language model."""

    kind: ClassVar[str] = "language model"
    option: ClassVar[str] = "--llm"
    model_options: ClassVar[str] = f"--llm-model or {MODEL}"
    key_variable: ClassVar[str] = KEY
    path_of_requests: ClassVar[str] = "/chat/completions"
    error: ClassVar[type[CdesearchError]] = LanguageModelError

    silence_seconds: float = SILENCE_SECONDS


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
        try:
            connection = self._endpoint.connect()
        except (OSError, UnicodeError) as error:
            raise self._endpoint.unreachable(error) from None
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

    def _explained(self, error: Exception) -> CdesearchError:
        if self._is_silent or isinstance(error, TimeoutError):
            seconds = f"{self._endpoint.silence_seconds:g}"
            return self._failure(f"sent no text for {seconds} seconds", "Try again, or use a smaller --tokens.")
        if isinstance(error, LanguageModelError):
            return error
        return self._failure(f"closed the connection ({type(error).__name__})", "Check the log of the server.")

    def _pieces(self, connection: http.client.HTTPConnection) -> Iterator[str]:
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream", **self._endpoint.authorization}
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
            raise self._failure(f"reports an error: {self._endpoint.reason(event)}", "Check the log of the server.")
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

    def _refusal(self, response: http.client.HTTPResponse) -> CdesearchError:
        if refusal := self._endpoint.refusal(response.status):
            return refusal
        reason = self._endpoint.reason_in(response.read(MAX_LINE_BYTES), response.reason)
        what = f"refused the request (HTTP {response.status}: {reason})"
        if response.status == http.HTTPStatus.NOT_FOUND:
            return self._failure(what, f"Check --llm and --llm-model, which is {self._endpoint.model:.80}.")
        if response.status == http.HTTPStatus.TOO_MANY_REQUESTS:
            return self._failure(what, "Wait some seconds and ask again.")
        return self._failure(what, "Check the log of the server.")

    def _failure(self, what: str, remedy: str) -> CdesearchError:
        return self._endpoint.failure(what, remedy)
