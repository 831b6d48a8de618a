"""`GET /api/v1/ask` answers a question with citations, as a stream of server-sent events.

passages  the first event: the passages that the answer may cite, numbered from 1
text      a piece of the answer
answer    the last event: the whole answer and its citations
error     the last event if the language model fails: problem details
"""

import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from threading import BoundedSemaphore
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from cdesearch.answer.answer import Answer, WrittenAnswer
from cdesearch.answer.endpoint import chosen_endpoint
from cdesearch.cli.answers import answer_as_json, found_answer, passage_as_json
from cdesearch.errors import BusyError, CdesearchError, LanguageModelError
from cdesearch.serve.problems import problem_of
from cdesearch.serve.routes.parameters import IndexName, Question, State

HITS = 20  # the passages are made of at most this many hits
MAX_TOKENS = 8_000
MAX_WRITERS = 4  # answers that language models may write at the same time

router = APIRouter(tags=["ask"])
_writers = BoundedSemaphore(MAX_WRITERS)  # for all servers of this process


@router.get("/ask", response_class=StreamingResponse)
async def ask(
    state: State,
    question: Question,
    tokens: Annotated[
        int, Query(ge=50, le=MAX_TOKENS, description="The maximum number of tokens of all passages together.")
    ] = 1_500,
    index: IndexName = None,
) -> StreamingResponse:
    """Answer a question with citations, as server-sent events.

    The events are `passages`, then `text` for each piece of the answer, and finally `answer` or `error`.
    """
    served = state.indexes[index]
    endpoint = chosen_endpoint(None, None)
    started = time.perf_counter()
    passages, answer = await state.admission.run(
        lambda: found_answer(served.searcher, replace(question, k=HITS), tokens, is_written=endpoint is not None)
    )
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

    def ended(answer: Answer) -> str:
        values = answer_as_json(question.text, answer, None, time.perf_counter() - started)
        del values["passages"]  # the first event contains them
        return _event("answer", values)

    async def events() -> AsyncIterator[str]:
        shown = [passage_as_json(number, passage) for number, passage in enumerate(passages, 1)]
        yield _event("passages", {"question": question.text, "index": served.name, "passages": shown})
        if answer is not None:
            if answer.text:
                yield _event("text", {"text": answer.text})
            yield ended(answer)
        elif endpoint is not None:
            async for event in _written(lambda: WrittenAnswer(question.text, passages, endpoint), ended):
                yield event

    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)


async def _written(begin: Callable[[], WrittenAnswer], ended: Callable[[Answer], str]) -> AsyncIterator[str]:
    """Yield the events of an answer that a language model writes. If the client disconnects, this is cancelled."""
    if not _writers.acquire(blocking=False):
        yield _problem(BusyError("The language model is writing other answers.", "Ask again in a few seconds."))
        return
    written = begin()
    pieces = iter(written)
    try:
        while (piece := await run_sync(next, pieces, None, abandon_on_cancel=True)) is not None:
            yield _event("text", {"text": piece})
        yield ended(written.answer)
    except LanguageModelError as error:
        yield _problem(error)
    finally:
        written.close()  # ends a thread that still waits for the model
        _writers.release()


def _problem(error: CdesearchError) -> str:
    return _event("error", json.loads(bytes(problem_of(error).body)))


def _event(name: str, value: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(value)}\n\n"
