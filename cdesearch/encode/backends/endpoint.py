"""The runtime on a server: vectors from an OpenAI-compatible embeddings API.

Text Embeddings Inference, vLLM, Ollama, llama.cpp and many others provide it. The server divides texts into tokens and
pools them, so it returns only finished vectors.
"""

import http.client
import json
import os
import random
import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from threading import Event
from typing import ClassVar
from weakref import finalize

import numpy as np

from cdesearch.api_server import ApiServer
from cdesearch.context.vectors import Floats
from cdesearch.encode.backends.embeddings_answer import InvalidAnswerError, read_vectors
from cdesearch.encode.length_batches import Integers
from cdesearch.errors import CdesearchError, ModelServerError, TextRefusedError

KEY = "CDESEARCH_MODEL_KEY"  # environment variable
TEXTS = 32  # in a request: the default limit of Text Embeddings Inference
CHARACTERS = 60_000  # in a request of several texts
REQUESTS = 4  # at the same time
MAX_ANSWER_BYTES = 200_000_000
TRIES_OF_REFUSED = 3  # of a request that may have failed because of its texts
FIRST_WAIT = 0.5  # seconds before a failed request is repeated; each further wait is twice as long
LONGEST_WAIT = 30.0  # seconds, unless the server asks for more
INTERRUPT_SECONDS = 0.02  # between two attempts to interrupt requests that nobody waits for
CHECK_LOG = "Check the log of the server."
NO_API = "Check that --model is the URL of an OpenAI-compatible embeddings API."

TEMPORARY = {408, 425, 429, 502, 503, 504}
REFUSED = {400, 413, 422}  # of a text that is too long, or of too many texts


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a caller waits for a server that fails."""

    tries: int  # of a request
    silence_seconds: float  # without a byte of the answer
    wait_seconds: float  # that a server may ask for


BUILDING = Patience(tries=8, silence_seconds=300.0, wait_seconds=300.0)  # a minute of waits, for a server that restarts
ASKING = Patience(tries=3, silence_seconds=30.0, wait_seconds=2.0)  # somebody waits for hits


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
    """The server refuses a request because of its texts."""


class _TemporaryError(Exception):
    """A request failed, and may succeed if it is repeated."""

    def __init__(self, error: CdesearchError | _RefusedError, wait: float | None = None) -> None:
        self.error = error  # to raise if it does not
        self.wait = wait  # seconds, if the server asks for them
        self.tries = TRIES_OF_REFUSED if isinstance(error, _RefusedError) else None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of one batch: the parts that have vectors, and the error that ended it."""

    parts: list[tuple[Integers, Floats]]
    error: CdesearchError | None = None


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of `embed`, whose requests end together."""

    texts: Sequence[str]
    patience: Patience
    stop: Event = field(default_factory=Event)  # set when no further request shall begin
    busy: set[http.client.HTTPConnection] = field(default_factory=set)

    def interrupt(self) -> None:
        """End the requests under way; their threads get an error."""
        for one in [connection.sock for connection in tuple(self.busy)]:
            if one is not None:
                with suppress(OSError):
                    # The method of the base class bypasses TLS, whose state belongs to the thread of the request.
                    socket.socket.shutdown(one, socket.SHUT_RDWR)


class Endpoint:
    """One model on one server. Any number of threads may use it; connections are kept and reused."""

    def __init__(self, server: EmbeddingServer) -> None:
        self.server = server
        self.dimension: int | None = None  # learnt from the first answer
        self._texts = TEXTS  # in a request; fewer if the server refuses so many
        self._idle: list[http.client.HTTPConnection] = []
        finalize(self, _close_all, self._idle)

    def embed(self, texts: Sequence[str], patience: Patience) -> Iterator[tuple[Integers, Floats]]:
        """Unit vectors (n, d) of parts of `texts` with their indices (n,), as the answers arrive.

        If a request fails for good, the vectors of all others that are under way come before the error. Raises
        ModelServerError, or TextRefusedError for a text that the server refuses.
        """
        call = _Call(texts, patience)
        pool = ThreadPoolExecutor(REQUESTS, thread_name_prefix="cdesearch-embeddings")
        error: CdesearchError | None = None
        has_ended = False
        running: list[Future[_Outcome]] = []
        try:
            running += [pool.submit(self._outcome, call, batch) for batch in self._batches(texts)]
            for future in as_completed(running):
                if future.cancelled():
                    continue
                outcome = future.result()
                yield from outcome.parts
                if outcome.error is not None and error is None:
                    error = outcome.error
                    call.stop.set()
                    for other in running:
                        other.cancel()
            has_ended = True
        finally:
            call.stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            # After Ctrl-C, nobody will use the answers. A thread that connects only now is interrupted the next time.
            while not has_ended and not all(future.done() for future in running):
                call.interrupt()
                time.sleep(INTERRUPT_SECONDS)
            pool.shutdown()
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

    def _outcome(self, call: _Call, batch: list[int]) -> _Outcome:
        """Ask for the vectors of a batch, and for those of its halves if the server refuses so many or such texts."""
        parts: list[tuple[Integers, Floats]] = []
        waiting = [batch]
        while waiting and not call.stop.is_set():
            part = waiting.pop()
            try:
                vectors = self._repeated(call, [call.texts[index] for index in part])
                parts.append((np.array(part, np.int64), vectors))
            except _RefusedError as refused:
                if len(part) == 1:
                    return _Outcome(parts, self._refused_text(len(call.texts[part[0]]), part[0], refused))
                half = len(part) // 2
                self._texts = min(self._texts, len(part) - half)
                waiting += [part[half:], part[:half]]
            except CdesearchError as error:
                return _Outcome(parts, error)
        return _Outcome(parts)

    def _refused_text(self, length: int, position: int, refused: _RefusedError) -> TextRefusedError:
        failure = self.server.failure(
            f"refuses a text of {length:,} characters ({refused})",
            "Start the server so that it cuts long texts, or leave the file out (--exclude).",
        )
        return TextRefusedError(failure.cause, failure.remedy, position)

    def _repeated(self, call: _Call, texts: list[str]) -> Floats:
        """The vectors of one request, which is repeated while its failure may be temporary."""
        failed = 0
        while True:
            try:
                return self._request(call, texts)
            except _TemporaryError as failure:
                wait = min(FIRST_WAIT * 2**failed, LONGEST_WAIT)
                wait *= random.uniform(0.5, 1.5)  # so that requests that failed together do not return together
                wait = max(wait, failure.wait or 0)
                failed += 1
                has_failed = failed == min(failure.tries or call.patience.tries, call.patience.tries)
                if has_failed or wait > call.patience.wait_seconds or call.stop.wait(wait):
                    raise failure.error from None

    def _request(self, call: _Call, texts: list[str]) -> Floats:
        """The vectors of one request; raises _TemporaryError, _RefusedError or ModelServerError."""
        body = {"model": self.server.model, "input": texts, "encoding_format": "base64"}
        data = json.dumps(body).encode()
        while True:
            connection, is_reused = self._connection(call.patience)
            call.busy.add(connection)
            try:
                status, headers, answer = self._exchange(connection, data)
                break
            except TimeoutError:
                connection.close()
                seconds = f"{call.patience.silence_seconds:g}"
                raise self.server.failure(f"did not answer for {seconds} seconds", CHECK_LOG) from None
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if not is_reused or call.stop.is_set():
                    failure = self.server.failure(f"closed the connection ({type(error).__name__})", CHECK_LOG)
                    raise _TemporaryError(failure) from None
                # The server may have closed a connection that was idle, which says nothing about this request.
            finally:
                call.busy.discard(connection)
        if len(answer) > MAX_ANSWER_BYTES:
            connection.close()
            raise self.server.failure(f"sent more than {MAX_ANSWER_BYTES:,} bytes", NO_API)
        if connection.sock is not None:  # the server has not asked to close it
            self._idle.append(connection)
        if status == http.HTTPStatus.OK:
            return self._vectors(answer, len(texts))
        raise self._failed(status, headers, answer)

    def _exchange(
        self, connection: http.client.HTTPConnection, data: bytes
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", **self.server.authorization}
        connection.request("POST", self.server.path, data, headers)
        with connection.getresponse() as response:
            answer = response.read(MAX_ANSWER_BYTES + 1)
            if response.length and len(answer) <= MAX_ANSWER_BYTES:  # `read` with a limit does not report it
                raise http.client.IncompleteRead(answer, response.length)
            return response.status, response.headers, answer

    def _failed(self, status: int, headers: http.client.HTTPMessage, answer: bytes) -> Exception:
        """The error of an answer that holds no vectors."""
        if refusal := self.server.refusal(status):
            return refusal
        reason = f"HTTP {status}: {self.server.reason_in(answer, http.client.responses.get(status, 'unknown'))}"
        if status in REFUSED:
            return _RefusedError(reason)
        if status == http.HTTPStatus.INTERNAL_SERVER_ERROR:  # llama.cpp answers so to a text that is too long
            return _TemporaryError(_RefusedError(reason), _seconds_to_wait(headers))
        if status in TEMPORARY:
            what = "has too many requests" if status == http.HTTPStatus.TOO_MANY_REQUESTS else "fails"
            return _TemporaryError(self.server.failure(f"{what} ({reason})", CHECK_LOG), _seconds_to_wait(headers))
        if status == http.HTTPStatus.NOT_FOUND:
            remedy = f"Check --model and --model-name, which is {self.server.model:.80}."
            return self.server.failure(f"refuses the request ({reason})", remedy)
        return self.server.failure(f"refuses the request ({reason})", CHECK_LOG)

    def _vectors(self, answer: bytes, count: int) -> Floats:
        try:
            vectors = read_vectors(answer, count, self.dimension)
        except InvalidAnswerError as error:
            raise self.server.failure(str(error), NO_API) from None
        self.dimension = vectors.shape[1]
        return vectors

    def _connection(self, patience: Patience) -> tuple[http.client.HTTPConnection, bool]:
        """A connection, and whether it has been used before."""
        is_reused = True
        try:
            connection = self._idle.pop()  # atomic, so no lock is needed
        except IndexError:
            is_reused = False
            try:
                connection = self.server.connect()
            except (OSError, UnicodeError) as error:
                failure = self.server.unreachable(error)
                raise (failure if _is_final(error) else _TemporaryError(failure)) from None
        connection.sock.settimeout(patience.silence_seconds)
        return connection, is_reused


def _close_all(connections: list[http.client.HTTPConnection]) -> None:
    for connection in connections:
        connection.close()


def _is_final(error: Exception) -> bool:
    """Whether connecting again would fail again: a wrong certificate, or a name that no host can have."""
    return isinstance(error, ssl.SSLError | UnicodeError)


def _seconds_to_wait(headers: http.client.HTTPMessage) -> float | None:
    """The value of Retry-After, which is a number of seconds or a date; None if there is none."""
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdecimal():
        return float(value[:9])
    with suppress(ValueError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return None
