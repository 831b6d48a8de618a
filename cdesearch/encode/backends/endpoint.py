"""The runtime on a server: vectors from an OpenAI-compatible embeddings API.

Text Embeddings Inference, vLLM, Ollama, llama.cpp and many others provide it. The server divides texts into tokens and
pools them, so it returns only finished vectors.
"""

import http.client
import json
import os
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import ClassVar

import numpy as np

from cdesearch.api_server import ApiServer
from cdesearch.context.vectors import Floats
from cdesearch.encode.backends.connections import CHECK_LOG, Answer, Connections, Requests, TemporaryError
from cdesearch.encode.backends.embeddings_answer import InvalidAnswerError, read_vectors
from cdesearch.encode.length_batches import Integers
from cdesearch.errors import CdesearchError, ModelServerError, TextRefusedError

KEY = "CDESEARCH_MODEL_KEY"  # environment variable
TEXTS = 32  # in a request: the default limit of Text Embeddings Inference
CHARACTERS = 60_000  # in a request of several texts
REQUESTS = 4  # at the same time
TRIES_OF_REFUSED = 3  # of a request that may have failed because of its texts
FIRST_WAIT = 0.5  # seconds before a failed request is repeated; each further wait is twice as long
LONGEST_WAIT = 30.0  # seconds, unless the server asks for more
INTERRUPT_SECONDS = 0.02  # between two attempts to interrupt requests that nobody waits for
NO_API = "Check that --model is the URL of an OpenAI-compatible embeddings API."

TEMPORARY = {408, 425, 429, 502, 503, 504}
REFUSED = {400, 413, 422}  # of a text that is too long, or of too many texts
# llama.cpp answers 500 to a text that is too long, and Text Embeddings Inference 424 if a batch exhausts its memory.
PERHAPS_REFUSED = {424, 500}
SHORT_TEXT = "text"  # a server that refuses even this one refuses every text


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


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of one batch: the parts that have vectors, and the error that ended it."""

    parts: list[tuple[Integers, Floats]]
    error: CdesearchError | None = None


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of `embed`."""

    texts: Sequence[str]
    patience: Patience
    requests: Requests = field(default_factory=Requests)


class Endpoint:
    """One model on one server. Any number of threads may use it; connections are kept and reused."""

    def __init__(self, server: EmbeddingServer) -> None:
        self.server = server
        self.dimension: int | None = None  # learnt from the first answer
        self._texts = TEXTS  # in a request; fewer if the server refuses so many
        self._connections = Connections(server)

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
                    call.requests.stop.set()
                    for other in running:
                        other.cancel()
            has_ended = True
        finally:
            call.requests.stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            # After Ctrl-C, nobody will use the answers. A thread that connects only now is interrupted the next time.
            while not has_ended and not all(future.done() for future in running):
                call.requests.interrupt()
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
        while waiting and not call.requests.stop.is_set():
            part = waiting.pop()
            try:
                vectors = self._repeated(call, [call.texts[index] for index in part])
                parts.append((np.array(part, np.int64), vectors))
            except _RefusedError as refused:
                if (len(part) == 1 or self.dimension is None) and (failure := self._failure(call, refused)):
                    return _Outcome(parts, failure)
                if len(part) == 1:
                    return _Outcome(parts, self._refused_text(len(call.texts[part[0]]), part[0], refused))
                half = len(part) // 2
                self._texts = min(self._texts, len(part) - half)
                waiting += [part[half:], part[:half]]
            except CdesearchError as error:
                return _Outcome(parts, error)
        return _Outcome(parts)

    def _failure(self, call: _Call, refused: _RefusedError) -> CdesearchError | None:
        """The error of a server that refuses a short text as well; None if only the texts of a request are refused."""
        try:
            self._repeated(call, [SHORT_TEXT])
        except _RefusedError:
            return self.server.failure(
                f"computes no vector, not even of a short text ({refused})",
                f"Check the log of the server, and whether {self.server.model:.80} (--model-name) computes embeddings.",
            )
        except CdesearchError as error:
            return error
        return None

    def _refused_text(self, length: int, position: int, refused: _RefusedError) -> TextRefusedError:
        failure = self.server.failure(
            f"refuses a text of {length:,} characters ({refused})",
            "Start the server so that it cuts long texts, or leave the file out (--exclude).",
        )
        return TextRefusedError(failure.cause, failure.remedy, position)

    def _repeated(self, call: _Call, texts: list[str]) -> Floats:
        """The vectors of one request, which is repeated while its failure may be temporary."""
        patience, stop = call.patience, call.requests.stop
        failed = 0
        while True:
            try:
                return self._request(call, texts)
            except TemporaryError as failure:
                wait = min(FIRST_WAIT * 2**failed, LONGEST_WAIT)
                wait *= random.uniform(0.5, 1.5)  # so that requests that failed together do not return together
                wait = max(wait, failure.wait or 0)
                failed += 1
                most = TRIES_OF_REFUSED if isinstance(failure.error, _RefusedError) else patience.tries
                if failed >= min(most, patience.tries) or wait > patience.wait_seconds or stop.wait(wait):
                    raise failure.error from None

    def _request(self, call: _Call, texts: list[str]) -> Floats:
        """The vectors of one request; raises TemporaryError, _RefusedError or ModelServerError."""
        body = {"model": self.server.model, "input": texts, "encoding_format": "base64"}
        answer = self._connections.post(json.dumps(body).encode(), call.patience.answer_seconds, call.requests)
        if answer.status == http.HTTPStatus.OK:
            return self._vectors(answer.body, len(texts))
        raise self._failed(answer)

    def _failed(self, answer: Answer) -> Exception:
        """The error of an answer that holds no vectors."""
        status = answer.status
        if refusal := self.server.refusal(status):
            return refusal
        reason = f"HTTP {status}: {self.server.reason_in(answer.body, http.client.responses.get(status, 'unknown'))}"
        wait = _seconds_to_wait(answer.headers)
        if status in REFUSED:
            return _RefusedError(reason)
        if status in PERHAPS_REFUSED:
            return TemporaryError(_RefusedError(reason), wait)
        if status in TEMPORARY:
            what = "has too many requests" if status == http.HTTPStatus.TOO_MANY_REQUESTS else "fails"
            return TemporaryError(self.server.failure(f"{what} ({reason})", CHECK_LOG), wait)
        if status == http.HTTPStatus.NOT_FOUND:
            remedy = f"Check --model and --model-name, which is {self.server.model:.80}."
            return self.server.failure(f"refuses the request ({reason})", remedy)
        return self.server.failure(f"refuses the request ({reason})", CHECK_LOG)

    def _vectors(self, answer: bytes, count: int) -> Floats:
        try:
            vectors = read_vectors(answer, count, self.dimension, self.server.reason)
        except InvalidAnswerError as error:
            raise self.server.failure(str(error), NO_API) from None
        self.dimension = vectors.shape[1]
        return vectors


def _seconds_to_wait(headers: http.client.HTTPMessage) -> float | None:
    """The value of Retry-After, which is a number of seconds or a date; None if there is none."""
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdecimal():
        return float(value[:9])
    with suppress(ValueError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return None
