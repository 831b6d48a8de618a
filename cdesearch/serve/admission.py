"""Admission control: a few threads run the searches, a queue of bounded length holds others, the rest are refused."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from cdesearch.errors import BusyError

Answer = TypeVar("Answer")


class Admission:
    """Runs searches in a few threads. Only the thread of the event loop may call its methods."""

    def __init__(self, running: int, waiting: int, seconds: float) -> None:
        """Run up to `running` searches at a time, let up to `waiting` others wait, and limit each to `seconds`."""
        self._limit = running + waiting
        self._seconds = seconds
        self._admitted = 0
        self._executor = ThreadPoolExecutor(running, thread_name_prefix="cdesearch-serve")

    async def run(self, search: Callable[[], Answer]) -> Answer:
        """Run `search` in a thread and return its result.

        Raises BusyError if too many other searches are waiting, or if the search exceeds the time limit. Such a search
        cannot be interrupted, so its thread stays busy until the search ends.
        """
        if self._admitted >= self._limit:
            raise BusyError("Too many requests are waiting.", "Try again in a second.")
        loop = asyncio.get_running_loop()
        self._admitted += 1
        future = self._executor.submit(search)
        future.add_done_callback(lambda _: self._end(loop))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except TimeoutError:
            raise BusyError(
                f"The request was not finished after {self._seconds:g} seconds.",
                "Ask for fewer hits, check the network if the index is in a bucket, or try again later.",
            ) from None

    def close(self) -> None:
        """Wait for the running searches, cancel the waiting ones, and end the threads."""
        self._executor.shutdown(cancel_futures=True)

    def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._release)

    def _release(self) -> None:
        self._admitted -= 1
