"""The loop of a run: steps, held-out losses, states on disk, and a stop between two steps on Ctrl-C and SIGTERM."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import torch

from cdesearch.cli.exits import INTERRUPTED, TERMINATED
from cdesearch.errors import InputError, TrainingError
from cdesearch.progress import Display
from cdesearch.terminal import counted
from trainer.execution import highest, say
from trainer.run.folder import begin_log
from trainer.run.state import STATE, Running, load_state

SAVE_SECONDS = 300.0  # between two states


class Terminated(KeyboardInterrupt):
    """SIGTERM has arrived. As a KeyboardInterrupt, it ends a run in the same way as Ctrl-C."""


@contextmanager
def ending_when_stopped(out: Path) -> Iterator[None]:
    """If a signal stops the run in the block, say whether its state is saved, and exit with the code of the signal."""
    try:
        yield
    except KeyboardInterrupt as error:
        if (out / STATE).exists():
            say("Stopped. The state is saved: the same command with --resume continues.")
        else:
            say("Stopped before a state was saved. The same command begins again, with the data that it has prepared.")
        raise SystemExit(TERMINATED if isinstance(error, Terminated) else INTERRUPTED) from None


class Work(NamedTuple):
    """What a run does: take a step, measure the held-out losses, and save the state."""

    step: Callable[[], None]
    watch: Callable[[], None]
    save: Callable[[], None]


def take_steps(
    work: Work, state: Running, n_steps: int, watch_every: int, display: Display, device: torch.device
) -> None:
    """Take all remaining steps; the state is saved every few minutes, at the end, and when a signal stops the run."""
    advance = display.stage("Training", n_steps)
    advance(state.step)
    saved = time.monotonic()
    with stop_signals() as received:
        try:
            while state.step < n_steps:
                if state.step % watch_every == 0:
                    work.watch()
                work.step()
                advance(1)
                if number := highest(received[-1] if received else 0, device):  # all processes stop together
                    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
                if time.monotonic() - saved > SAVE_SECONDS:
                    work.save()
                    saved = time.monotonic()
            work.watch()
        except KeyboardInterrupt:
            work.save()
            raise
        work.save()


def begin(state: Running, n_steps: int, *, resume: bool) -> None:
    """Begin a run and its log, or with `resume` continue where the state on disk ends; raises InputError."""
    if resume:
        load_state(state)
    done = state.step
    if done > n_steps:
        raise InputError(
            f"{state.folder} has taken {counted(done, 'step')}, and the recipe has {n_steps:,}.",
            "Raise learning.steps, or set another run.out.",
        )
    begin_log(state.folder, anew=not done)


def diverged(cause: str) -> TrainingError:
    """The error of a run whose numbers are no longer finite."""
    return TrainingError(cause, "Lower the learning rates, and set another run.out.")


@contextmanager
def terminable() -> Iterator[None]:
    """Within this context manager, SIGTERM raises Terminated, so that what is being written is finished or removed."""

    def terminate(_number: int, _frame: FrameType | None) -> None:
        raise Terminated

    with _handled([signal.SIGTERM], terminate):
        yield


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Yields a list of the signals SIGINT and SIGTERM that have arrived in the block; a second one stops it at once."""
    received: list[int] = []

    def receive(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1:
            raise Terminated if number == signal.SIGTERM else KeyboardInterrupt

    with _handled([signal.SIGINT, signal.SIGTERM], receive):
        yield received


@contextmanager
def _handled(numbers: list[signal.Signals], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle signals in the block, except those that are ignored, as under nohup; other threads cannot handle any."""
    is_main = threading.current_thread() is threading.main_thread()
    chosen = [number for number in numbers if is_main and signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in chosen}
    try:
        yield
    finally:
        for number, one in before.items():
            signal.signal(number, one)
