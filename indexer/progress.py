"""Where progress is shown: bars on a terminal, plain lines elsewhere, or nowhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress
from rich.text import Text


class Progress(Protocol):
    """Shows the progress of a run."""

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:
        """Begin a stage of `total` steps, None where unknown; returns a function that counts finished steps."""


class Silent:
    """Progress that is not shown."""

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:  # noqa: ARG002
        return lambda _: None


class _Shown:
    """One bar at a time on a terminal; one line for each stage where stderr goes to a file."""

    def __init__(self, console: Console, bars: RichProgress) -> None:
        self._console = console
        self._bars = bars

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:
        for old in list(self._bars.task_ids):
            self._bars.remove_task(old)
        task = self._bars.add_task(name, total=total)
        if not self._console.is_terminal and total != 0:
            self._console.print(name if total is None else f"{name}: {total:,}")
        return lambda n: self._bars.advance(task, n)


class _Count(ProgressColumn):
    """How many steps are done, and of how many where that is known."""

    def render(self, task: Task) -> Text:
        done = f"{task.completed:,.0f}" if task.completed or task.total else ""
        return Text(f"{done}/{task.total:,.0f}" if task.total else done, style="progress.download")


class _Speed(ProgressColumn):
    """Steps per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s", style="progress.data.speed")


@contextmanager
def shown_on_stderr() -> Iterator[Progress]:
    """Progress on stderr, as bars or lines."""
    console = Console(stderr=True, highlight=False)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), _Count(), _Speed())
    bars = RichProgress(
        *columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal
    )
    with bars:
        yield _Shown(console, bars)
