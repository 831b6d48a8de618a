"""The progress of a long operation: bars on a terminal, plain lines in a file or pipe, or nothing."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from cdesearch.terminal import open_console, printable

if TYPE_CHECKING:  # a machine for training may have no rich, and reports progress in plain lines
    from rich.progress import Progress as RichProgress

SECONDS = 10.0  # between two lines about the same stage, if no bar is shown


class Progress(Protocol):
    """Where an operation reports its stages."""

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:
        """Begin a stage of `total` units; the returned function takes the number of units done since its last call."""


class Display(Progress, Protocol):
    """Progress that also shows text: training reports its steps and its evaluations."""

    def detail(self, text: str) -> None:
        """Show the latest numbers of the present stage."""

    def note(self, text: str) -> None: ...


class Silent:
    """A display that shows nothing."""

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:  # noqa: ARG002 (the protocol has them)
        return lambda _: None

    def detail(self, text: str) -> None: ...

    def note(self, text: str) -> None: ...


class PlainLines:
    """A display without bars, which needs no library. It prints stages, and their progress every SECONDS seconds."""

    def __init__(self) -> None:
        self._latest = time.monotonic() - SECONDS

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:
        """Print the name, unless there is nothing to do."""
        if total != 0:
            self.note(name if total is None else f"{name}: {total:,}")
            self._latest = time.monotonic()
        done = 0

        def advance(n: int) -> None:
            nonlocal done
            done += n
            if self._is_due():
                self.note(f"{name}: {done:,}" if total is None else f"{name}: {done:,} of {total:,}")

        return advance

    def detail(self, text: str) -> None:
        """Print the latest numbers if no line was printed in the last SECONDS seconds."""
        if self._is_due():
            self.note(text)

    def note(self, text: str) -> None:
        print(printable(text), file=sys.stderr, flush=True)  # noqa: T201 (progress is printed here)

    def _is_due(self) -> bool:
        now = time.monotonic()
        if now - self._latest < SECONDS:
            return False
        self._latest = now
        return True


class _Bars:
    """One bar at a time, on a terminal."""

    def __init__(self, bars: "RichProgress") -> None:
        self._bars = bars

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:
        for old in list(self._bars.task_ids):
            self._bars.remove_task(old)
        task = self._bars.add_task(printable(name), total=total, detail="")
        return lambda n: self._bars.advance(task, n)

    def detail(self, text: str) -> None:
        for task in self._bars.task_ids:
            self._bars.update(task, detail=printable(text))

    def note(self, text: str) -> None:
        self._bars.console.print(printable(text), soft_wrap=True)


@contextmanager
def shown_on_stderr() -> Iterator[Display]:
    """A display on stderr: a bar if stderr is a terminal and rich is installed, plain lines otherwise."""
    if find_spec("rich") is None:
        yield PlainLines()
        return
    from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    console = open_console(stderr=True)
    if not console.is_terminal:
        yield PlainLines()
        return

    class Count(ProgressColumn):
        def render(self, task: Task) -> str:
            return f"{task.completed:,.0f}/{task.total:,.0f}" if task.total else ""

    class Speed(ProgressColumn):
        def render(self, task: Task) -> str:
            speed = task.finished_speed or task.speed
            return f"{speed:,.0f}/s" if speed else ""

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), Count())
    texts = (TextColumn("{task.fields[detail]}", markup=False), TimeRemainingColumn())
    with RichProgress(*columns, Speed(), *texts, console=console, transient=True) as bars:
        yield _Bars(bars)
