"""The runtime on a server: vectors from an OpenAI-compatible embeddings API.

Text Embeddings Inference, vLLM, Ollama, llama.cpp and many others provide it. The server divides texts into tokens and
pools them, so it returns only finished vectors.
"""

import asyncio
import base64
import json
import os
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import finalize

import numpy as np

from cdesearch.api_server import CHECK_LOG, ApiServer, event_loop
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.encode.length_batches import Integers
from cdesearch.errors import CdesearchError, ModelServerError, TextRefusedError

if TYPE_CHECKING:
    import httpx

KEY = "CDESEARCH_MODEL_KEY"  # environment variable
TEXTS = 32  # in a request: the default limit of Text Embeddings Inference
CHARACTERS = 60_000  # in a request of several texts
REQUESTS = 4  # at the same time
TRIES_OF_REFUSED = 3  # of a request that may have failed because of its texts
FIRST_WAIT = 0.5  # seconds before a failed request is repeated; each further wait is twice as long
LONGEST_WAIT = 30.0  # seconds, unless the server asks for more
MAX_DIMENSION = 65_536
SHOWN = 40  # characters of what came instead of embeddings
NO_API = "Check that --model is the URL of an OpenAI-compatible embeddings API."

TEMPORARY = {408, 425, 429, 502, 503, 504}
REFUSED = {400, 413, 422}  # of a text that is too long, or of too many texts
# llama.cpp answers 500 to a text that is too long, and Text Embeddings Inference 424 if a batch exhausts its memory.
PERHAPS_REFUSED = {424, 500}


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a caller waits for a server that fails."""

    tries: int  # of a request
    answer_seconds: float  # until an answer is complete
    wait_seconds: float  # that a server may ask for


BUILDING = Patience(tries=8, answer_seconds=300.0, wait_seconds=300.0)  # a minute of waits, for a server that restarts
ASKING = Patience(tries=3, answer_seconds=30.0, wait_seconds=2.0)  # somebody waits for hits


@dataclass(frozen=True, slots=True)
class EmbeddingServer(ApiServer):
    """The address of an embedding model."""

    kind: ClassVar[str] = "embedding model"
    option: ClassVar[str] = "--model"
    model_options: ClassVar[str] = "--model-name"
    key_variable: ClassVar[str] = KEY
    path_of_requests: ClassVar[str] = "/embeddings"
    error: ClassVar[type[CdesearchError]] = ModelServerError

    @classmethod
    def of(cls, url: str, model: str) -> "EmbeddingServer":
        """The address with the key in the environment, if there is one; raises InputError."""
        return cls.parse(url, model, os.environ.get(KEY, ""))


class _RefusedError(Exception):
    """The server refuses a request, perhaps because of its texts."""


class _TemporaryError(Exception):
    """A request failed, and may succeed if it is repeated."""

    def __init__(self, error: Exception, wait: float | None = None) -> None:
        self.error = error  # to raise if it does not
        self.wait = wait  # seconds, if the server asks for them


@dataclass(slots=True)
class _Call:
    """One call of `embed`."""

    texts: Sequence[str]
    patience: Patience
    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(REQUESTS))
    is_stopped: bool = False  # whether no further request shall begin


class Endpoint:
    """One model on one server. Any number of threads may use it; connections are kept and reused."""

    def __init__(self, server: EmbeddingServer) -> None:
        self.server = server
        self.dimension: int | None = None  # learnt from the first answer
        self._texts = TEXTS  # in a request; fewer if the server refuses so many
        self._client: httpx.AsyncClient | None = None

    def embed(self, texts: Sequence[str], patience: Patience) -> Iterator[tuple[Integers, Floats]]:
        """Unit vectors (n, d) of parts of `texts` with their indices (n,), as the answers arrive.

        If a request fails for good, the vectors of all others that are under way come before the error. Raises
        ModelServerError, or TextRefusedError for a text that the server refuses.
        """
        call = _Call(texts, patience)
        error: CdesearchError | None = None
        running: list[Future[list[tuple[Integers, Floats]]]] = []
        try:
            calls = [self._parts(call, batch) for batch in self._batches(texts)]
            running += [asyncio.run_coroutine_threadsafe(one, event_loop()) for one in calls]
            for future in as_completed(running):
                try:
                    parts = future.result()
                except CdesearchError as failure:
                    error = error or failure
                    call.is_stopped = True
                else:
                    yield from parts
        finally:
            for future in running:  # after Ctrl-C, nobody will use the answers
                future.cancel()
        if error is not None:
            raise error

    def _batches(self, texts: Sequence[str]) -> list[list[int]]:
        """The indices of the texts of each request, the shortest texts first, so that a batch has similar lengths."""
        batches: list[list[int]] = []
        length = 0
        for index in sorted(range(len(texts)), key=lambda index: len(texts[index])):
            length += len(texts[index])
            if not batches or len(batches[-1]) >= self._texts or length > CHARACTERS:
                batches.append([])
                length = len(texts[index])
            batches[-1].append(index)
        return batches

    async def _parts(self, call: _Call, batch: list[int]) -> list[tuple[Integers, Floats]]:
        """The vectors of a batch, in parts if the server refuses so many texts or some of them."""
        parts: list[tuple[Integers, Floats]] = []
        waiting = [batch]
        async with call.free:
            while waiting and not call.is_stopped:
                part = waiting.pop()
                try:
                    vectors = await self._repeated(call, [call.texts[index] for index in part])
                    parts.append((np.array(part, np.int64), vectors))
                except _RefusedError as refused:
                    if len(part) == 1 and self.dimension is None:  # the first texts are short
                        raise self.server.failure(
                            f"computes no vector, not even of a short text ({refused})",
                            f"Check the log of the server, and whether {self.server.model:.80} (--model-name) computes"
                            " embeddings.",
                        ) from None
                    if len(part) == 1:
                        failure = self.server.failure(
                            f"refuses a text of {len(call.texts[part[0]]):,} characters ({refused})",
                            "Start the server so that it cuts long texts, or leave the file out (--exclude).",
                        )
                        raise TextRefusedError(failure.cause, failure.remedy, part[0]) from None
                    half = len(part) // 2
                    self._texts = min(self._texts, len(part) - half)
                    waiting += [part[half:], part[:half]]
        return parts

    async def _repeated(self, call: _Call, texts: list[str]) -> Floats:
        """The vectors of one request, which is repeated while its failure may be temporary."""
        failed = 0
        while True:
            try:
                return await self._request(call.patience, texts)
            except _TemporaryError as failure:
                wait = min(FIRST_WAIT * 2**failed, LONGEST_WAIT)
                wait *= random.uniform(0.5, 1.5)  # so that requests that failed together do not return together
                wait = max(wait, failure.wait or 0)
                failed += 1
                tries = min(TRIES_OF_REFUSED if isinstance(failure.error, _RefusedError) else 99, call.patience.tries)
                if failed >= tries or wait > call.patience.wait_seconds:
                    raise failure.error from None
                await asyncio.sleep(wait)
                if call.is_stopped:
                    raise failure.error from None

    async def _request(self, patience: Patience, texts: list[str]) -> Floats:
        """The vectors of one request; raises _TemporaryError, _RefusedError or ModelServerError."""
        import httpx

        if self._client is None:
            self._client = self.server.client()
            finalize(self, _close, self._client).atexit = False
        body = {"model": self.server.model, "input": texts, "encoding_format": "base64"}
        try:
            async with asyncio.timeout(patience.answer_seconds):
                answer = await self._client.post(self.server.url, json=body)
        except TimeoutError:
            what = f"did not answer within {patience.answer_seconds:g} seconds"
            raise self.server.failure(what, CHECK_LOG) from None
        except httpx.TransportError as error:
            raise _TemporaryError(self.server.broken(error)) from None
        if answer.status_code != HTTPStatus.OK:
            raise self._failed(answer)
        try:
            vectors = read_vectors(answer.content, len(texts), self.dimension, self.server)
        except ValueError as error:
            raise self.server.failure(str(error), NO_API) from None
        self.dimension = vectors.shape[1]
        return vectors

    def _failed(self, answer: "httpx.Response") -> Exception:
        status = answer.status_code
        if refusal := self.server.refusal(status):
            return refusal
        reason = f"HTTP {status}: {self.server.reason_in(answer.content, answer.reason_phrase or 'unknown')}"
        asked = answer.headers.get("Retry-After", "")
        wait = float(asked[:9]) if asked.isascii() and asked.isdecimal() else None  # a date is rare
        if status in REFUSED:
            return _RefusedError(reason)
        if status in PERHAPS_REFUSED:
            return _TemporaryError(_RefusedError(reason), wait)
        if status in TEMPORARY:
            what = "has too many requests" if status == HTTPStatus.TOO_MANY_REQUESTS else "fails"
            return _TemporaryError(self.server.failure(f"{what} ({reason})", CHECK_LOG), wait)
        named = f"Check --model and --model-name, which is {self.server.model:.80}."
        remedy = named if status == HTTPStatus.NOT_FOUND else CHECK_LOG
        return self.server.failure(f"refuses the request ({reason})", remedy)


def _close(client: "httpx.AsyncClient") -> None:
    asyncio.run_coroutine_threadsafe(client.aclose(), event_loop())


def read_vectors(answer: bytes, count: int, dimension: int | None, server: ApiServer) -> Floats:
    """The unit vectors (count, d) in an answer of `server`, in the order of the texts; `dimension` is d if it is known.

    Raises ValueError unless there is one finite vector for each text, all of them with d numbers. Its message continues
    a sentence about the server.
    """
    try:
        parsed = json.loads(answer)
    except (ValueError, RecursionError):
        start = " ".join(answer[: 4 * SHOWN].decode("utf-8", "replace").split())[:SHOWN]
        raise ValueError(f"sent no JSON with embeddings, but {start!r}" if start else "sent nothing") from None
    if isinstance(parsed, dict) and parsed.get("error") and "data" not in parsed:
        raise ValueError(f"sent an error instead of embeddings: {server.reason(parsed)}")
    try:
        rows = parsed["data"]
        by_index = {row.get("index", number): _numbers(row["embedding"]) for number, row in enumerate(rows)}
        vectors = [by_index[index] for index in range(count)]
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError):
        raise ValueError(f"sent something else than {count} embeddings") from None
    if len(rows) != count:
        raise ValueError(f"sent {len(rows)} embeddings for {count} texts")
    lengths = sorted({len(vector) for vector in vectors} | ({dimension} if dimension else set()))
    if len(lengths) > 1 or not 0 < lengths[0] <= MAX_DIMENSION:
        raise ValueError(f"sent embeddings of {' and '.join(f'{length:,}' for length in lengths)} numbers")
    stacked = np.stack(vectors)
    largest = np.abs(stacked).max(axis=1, keepdims=True)
    if not (np.isfinite(largest) & (largest > 0)).all():
        raise ValueError("sent embeddings of zeros, or with numbers that are not finite")
    return to_unit(stacked / largest)  # the squares of very small numbers would be zero


def _numbers(embedding: Any) -> Floats:
    """One vector (d,): base64 of float32 numbers, or a list of numbers; raises TypeError, ValueError, OverflowError."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4").astype(np.float32)
    if not isinstance(embedding, list) or not set(map(type, embedding)) <= {int, float}:
        raise TypeError
    with np.errstate(over="ignore"):  # a number that is too large becomes infinite, which is refused
        return np.array(embedding, np.float64).astype(np.float32)
