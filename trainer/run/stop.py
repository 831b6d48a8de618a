"""Stop a run between two steps on Ctrl-C and SIGTERM."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

import torch

from cdesearch.cli.exits import INTERRUPTED, TERMINATED
from trainer.execution.distributed import highest


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
    """While this context manager is open, SIGINT and SIGTERM wait for `check`; a second one does not wait.

    No step is then left incomplete, and several processes stop together.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._received = 0
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

    def check(self) -> None:
        """Raise KeyboardInterrupt or Terminated if a signal has arrived, in every process."""
        received, self._received = highest(self._received, self._device), 0
        if received:
            _stop(received)

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        if self._received:
            _stop(number)
        self._received = number


def _stop(number: int) -> None:
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
