"""Stop a run between two steps on Ctrl-C and SIGTERM."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

import torch

from cdesearch.cli.exits import INTERRUPTED, TERMINATED
from trainer.execution.distributed import highest, world


class Terminated(KeyboardInterrupt):
    """SIGTERM has arrived. As a KeyboardInterrupt, it ends a run in the same way as Ctrl-C."""


def exit_code(error: KeyboardInterrupt) -> int:
    """The exit code of a process that a signal stopped."""
    return TERMINATED if isinstance(error, Terminated) else INTERRUPTED


@contextmanager
def terminable() -> Iterator[None]:
    """Within this context manager, SIGTERM raises Terminated, so that what is being written is finished or removed."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, _: _stop(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class StopSignals:
    """While this context manager is open, SIGINT raises KeyboardInterrupt, and SIGTERM raises Terminated.

    Inside `deferred` the exception waits for the end of the block, so that no step is left incomplete. With several
    processes it always waits for such an end, so that all of them stop together.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._received = 0
        self._defers = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # other threads cannot handle signals
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is not signal.SIG_IGN:  # a signal that is ignored, as under nohup, stays so
                    self._previous[number] = signal.signal(number, self._receive)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Run the block to its end, then raise for a signal that arrived meanwhile."""
        self._defers = True
        try:
            yield
        finally:
            self._defers = False
        received = highest(self._received, self._device)
        self._received = 0
        if received:
            _stop(received)

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        if self._defers or world() > 1:
            self._received = number
        else:
            _stop(number)


def _stop(number: int) -> None:
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
