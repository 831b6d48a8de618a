"""Which searches run, which wait, and which are refused: a queue of bounded length before a few threads."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from cdesearch.errors import BusyError

Answer = TypeVar("Answer")


class Admission:
    """Runs searches in a few threads. All methods belong to the thread of the event loop."""

    def __init__(self, running: int, waiting: int, seconds: float) -> None:
        self._threads = running
        self._limit = running + waiting
        self._seconds = seconds
        self._admitted = 0
        self._executor = ThreadPoolExecutor(running, thread_name_prefix="cdesearch-serve")

    @property
    def running(self) -> int:
        """How many searches run now."""
        return min(self._admitted, self._threads)

    @property
    def waiting(self) -> int:
        """How many searches wait for a thread now."""
        return self._admitted - self.running

    async def run(self, search: Callable[[], Answer]) -> Answer:
        """The result of `search`, which runs in a thread.

        Raises BusyError if too many others wait, or if it takes too long; then its thread is busy until it ends.
        """
        if self._admitted >= self._limit:
            raise BusyError("Too many searches are waiting.", "Ask again in a second.")
        loop = asyncio.get_running_loop()
        self._admitted += 1
        future = self._executor.submit(search)
        future.add_done_callback(lambda done: self._end(loop, done))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except TimeoutError:
            raise BusyError(
                f"The search was given up after {self._seconds:g} seconds.", "Ask for fewer hits, or try again later."
            ) from None

    def close(self) -> None:
        """End the threads, after the searches that are running."""
        self._executor.shutdown(cancel_futures=True)

    def _end(self, loop: asyncio.AbstractEventLoop, _: "Future[Any]") -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._release)

    def _release(self) -> None:
        self._admitted -= 1
