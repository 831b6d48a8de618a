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
    """Told what goes on."""

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:
        """Begin a stage; the result is called with how many more are done."""


class Silent:
    """Shows nothing."""

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:  # noqa: ARG002
        """Ignore it."""
        return lambda _: None


class _Shown:
    """Bars on a terminal, one at a time; a line per stage where stderr goes to a file."""

    def __init__(self, console: Console, bars: RichProgress) -> None:
        self._console = console
        self._bars = bars

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:
        """Begin a stage and hide the one before."""
        for old in list(self._bars.task_ids):
            self._bars.remove_task(old)
        task = self._bars.add_task(name, total=total)
        if not self._console.is_terminal and total != 0:
            self._console.print(name if total is None else f"{name}: {total:,}")
        return lambda n: self._bars.advance(task, n)


class _Count(ProgressColumn):
    def render(self, task: Task) -> Text:
        """How many are done, of how many where that is known."""
        done = f"{task.completed:,.0f}" if task.completed or task.total else ""
        return Text(f"{done}/{task.total:,.0f}" if task.total else done, style="progress.download")


class _Speed(ProgressColumn):
    def render(self, task: Task) -> Text:
        """How many a second."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s", style="progress.data.speed")


@contextmanager
def shown_on_stderr() -> Iterator[Progress]:
    """Progress for a person."""
    console = Console(stderr=True, highlight=False)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), _Count(), _Speed())
    bars = RichProgress(
        *columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal
    )
    with bars:
        yield _Shown(console, bars)
