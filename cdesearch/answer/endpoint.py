"""A language model behind an OpenAI-compatible HTTP API, as Ollama, llama.cpp, vLLM and many others provide it."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from http import HTTPStatus
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, ClassVar

from cdesearch.api_server import CHECK_LOG, ApiServer, event_loop
from cdesearch.errors import CdesearchError, InputError, LanguageModelError

if TYPE_CHECKING:
    import httpx

URL, MODEL, KEY = "CDESEARCH_LLM_URL", "CDESEARCH_LLM_MODEL", "CDESEARCH_LLM_KEY"  # environment variables
SILENCE_SECONDS = 180.0  # a model on a CPU may read a prompt for minutes before it writes the first word
COMPATIBLE = "Check that the server is OpenAI-compatible."
MAX_CHARACTERS = 50_000  # a model that writes more is unlikely to stop

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
    """The endpoint that the options or the environment name; None if neither contains a URL.

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
        self._endpoint, self._failure = endpoint, endpoint.failure
        self._request = {"model": endpoint.model, "messages": list(messages), "stream": True, "temperature": 0}
        self._pieces: SimpleQueue[str | CdesearchError | None] = SimpleQueue()  # None is the end
        self._reading: Future[None] | None = None
        self._is_closed = False

    def close(self) -> None:
        """Cancel the request. Any thread may call this method; an iteration in another thread ends at once."""
        self._is_closed = True
        if self._reading is not None:
            self._reading.cancel()
        self._pieces.put(None)

    def __iter__(self) -> Iterator[str]:
        """Send the request and yield the pieces of the answer.

        Raises LanguageModelError if the model cannot be reached, fails, or stops before the end of its answer.
        """
        if self._is_closed:
            return
        self._reading = asyncio.run_coroutine_threadsafe(self._read(), event_loop())
        try:
            while (piece := self._pieces.get()) is not None:
                if isinstance(piece, CdesearchError):
                    raise piece
                yield piece
        finally:
            self._reading.cancel()

    async def _read(self) -> None:
        """Put the pieces of the answer into the queue, then the error if there is one, and None."""
        import httpx

        patience = self._endpoint.silence_seconds
        n_characters = 0
        try:
            async with asyncio.timeout(patience) as limit, self._endpoint.client() as client:
                async for piece in self._texts(client):
                    n_characters += len(piece)
                    if n_characters > MAX_CHARACTERS:
                        raise self._failure(
                            f"did not stop after {MAX_CHARACTERS:,} characters", "Choose another model."
                        )
                    if piece:
                        self._pieces.put(piece)
                        limit.reschedule(asyncio.get_running_loop().time() + patience)
        except TimeoutError:
            what = f"sent no text for {patience:g} seconds"
            self._pieces.put(self._failure(what, "Try again, or use a smaller --tokens."))
        except httpx.TransportError as error:
            self._pieces.put(self._endpoint.broken(error))
        except LanguageModelError as error:
            self._pieces.put(error)
        finally:
            self._pieces.put(None)

    async def _texts(self, client: "httpx.AsyncClient") -> AsyncIterator[str]:
        """The texts of the answer, some of them empty."""
        headers = {"Accept": "text/event-stream"}
        async with client.stream("POST", self._endpoint.url, json=self._request, headers=headers) as response:
            if response.status_code != HTTPStatus.OK:
                await response.aread()
                raise self._refusal(response)
            kind = response.headers.get("Content-Type", "").partition(";")[0]
            if kind == "application/json":  # a server that does not stream
                yield self._text(await response.aread())[0]
                return
            if kind != "text/event-stream":
                what = f"responded with {kind:.40} instead of a stream of events"
                raise self._failure(what, "Check the path of --llm.")
            is_finished = False
            async for line in response.aiter_lines():
                name, _, data = line.partition(":")
                data = data.strip()
                if name != "data" or not data:
                    continue
                if data == "[DONE]":
                    return
                text, is_last = self._text(data)
                is_finished |= is_last
                yield text
            if not is_finished:
                raise self._failure("stopped in the middle of its answer", CHECK_LOG)

    def _text(self, data: bytes | str) -> tuple[str, bool]:
        """The text of an event, and whether the event is marked as the last one."""
        try:
            event: Any = json.loads(data)
        except (ValueError, RecursionError):
            raise self._failure("sent a response that is not JSON", COMPATIBLE) from None
        if isinstance(event, dict) and event.get("error"):
            raise self._failure(f"reports an error: {self._endpoint.reason(event)}", CHECK_LOG)
        try:
            choice: dict[str, Any] = next(iter(event["choices"]), {})
            message = choice.get("delta") or choice.get("message") or {}
            text = message.get("content") or ""
            is_last = bool(choice.get("finish_reason"))
            return text.encode("utf-8", "replace").decode(), is_last  # JSON can contain one half of a surrogate pair
        except (KeyError, TypeError, AttributeError):
            raise self._failure("sent no chat completion", COMPATIBLE) from None

    def _refusal(self, response: "httpx.Response") -> CdesearchError:
        status = response.status_code
        if refusal := self._endpoint.refusal(status):
            return refusal
        reason = self._endpoint.reason_in(response.content, response.reason_phrase)
        what = f"refused the request (HTTP {status}: {reason})"
        if status == HTTPStatus.NOT_FOUND:
            return self._failure(what, f"Check --llm and --llm-model, which is {self._endpoint.model:.80}.")
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return self._failure(what, "Wait some seconds and ask again.")
        return self._failure(what, CHECK_LOG)
