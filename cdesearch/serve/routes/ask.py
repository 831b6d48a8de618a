"""`GET /api/v1/ask` answers a question with citations, as a stream of server-sent events.

passages  the first event: the passages that the answer may cite, numbered from 1
text      a piece of the answer
answer    the last event: the whole answer and its citations
error     the last event if the language model fails: problem details
"""

import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from threading import BoundedSemaphore
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from cdesearch.answer.answer import Answer, WrittenAnswer
from cdesearch.answer.endpoint import Endpoint, chosen_endpoint
from cdesearch.cli.answers import answer_as_json, found_answer, passage_as_json
from cdesearch.errors import BusyError, CdesearchError, LanguageModelError
from cdesearch.search.passages import Passage
from cdesearch.search.request import SearchRequest
from cdesearch.serve.problems import problem_of
from cdesearch.serve.routes.parameters import IndexName, PathGlobs, QueryText, State

HITS = 20  # the passages are made of at most this many hits
MAX_TOKENS = 8_000
MAX_WRITERS = 4  # answers that language models may write at the same time

router = APIRouter(tags=["ask"])
_writers = BoundedSemaphore(MAX_WRITERS)  # for all servers of this process


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question with its passages, and with its answer unless a language model is to write it."""

    question: str
    index: str  # the name of the index
    passages: tuple[Passage, ...]
    answer: Answer | None
    started: float  # on the clock of time.perf_counter


@router.get("/ask", response_class=StreamingResponse)
async def ask(
    state: State,
    q: QueryText,
    tokens: Annotated[
        int, Query(ge=50, le=MAX_TOKENS, description="The maximum number of tokens of all passages together.")
    ] = 1_500,
    path: PathGlobs = None,
    index: IndexName = None,
) -> StreamingResponse:
    """Answer a question with citations, as server-sent events.

    The events are `passages`, then `text` for each piece of the answer, and finally `answer` or `error`.
    """
    served = state.indexes[index]
    endpoint = chosen_endpoint(None, None)
    wanted = SearchRequest(q, HITS, path=tuple(path or ()))
    started = time.perf_counter()
    passages, answer = await state.admission.run(
        lambda: found_answer(served.searcher, wanted, tokens, is_written=endpoint is not None)
    )
    asked = _Asked(q, served.name, passages, answer, started)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(asked, endpoint), media_type="text/event-stream", headers=headers)


async def _events(asked: _Asked, endpoint: Endpoint | None) -> AsyncIterator[str]:
    shown = [passage_as_json(number, passage) for number, passage in enumerate(asked.passages, 1)]
    yield _event("passages", {"question": asked.question, "index": asked.index, "passages": shown})
    if asked.answer is not None:
        if asked.answer.text:
            yield _event("text", {"text": asked.answer.text})
        yield _end(asked, asked.answer)
    elif endpoint is not None:
        async for event in _written(asked, endpoint):
            yield event


async def _written(asked: _Asked, endpoint: Endpoint) -> AsyncIterator[str]:
    """Yield the events of an answer that a language model writes. If the client disconnects, this is cancelled."""
    if not _writers.acquire(blocking=False):
        yield _problem(BusyError("The language model is writing other answers.", "Ask again in a few seconds."))
        return
    written = WrittenAnswer(asked.question, asked.passages, endpoint)
    pieces = iter(written)
    try:
        while (piece := await run_sync(next, pieces, None, abandon_on_cancel=True)) is not None:
            yield _event("text", {"text": piece})
        yield _end(asked, written.answer)
    except LanguageModelError as error:
        yield _problem(error)
    finally:
        written.close()  # ends a thread that still waits for the model
        _writers.release()


def _end(asked: _Asked, answer: Answer) -> str:
    values = answer_as_json(asked.question, answer, None, time.perf_counter() - asked.started)
    del values["passages"]  # the first event contains them
    return _event("answer", values)


def _problem(error: CdesearchError) -> str:
    return _event("error", json.loads(bytes(problem_of(error).body)))


def _event(name: str, value: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(value)}\n\n"
