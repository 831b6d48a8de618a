"""The progress of a long operation: bars on a terminal, plain lines in a file or pipe, or nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # a machine for training may have no rich, and reports progress in plain lines
    from rich.console import Console
    from rich.progress import Progress as RichProgress

LINES_EVERY = 20  # without a bar, one call of `detail` in so many prints a line


class Progress(Protocol):
    """Where an operation reports its stages."""

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:
        """Begin a stage of `total` units; the returned function takes the number of units done since its last call."""


class Display(Progress, Protocol):
    """Progress that also shows text: training reports its steps and its evaluations."""

    def detail(self, text: str) -> None:
        """Show the latest numbers of the present stage."""

    def note(self, text: str) -> None:
        """Print a line that stays."""


class Silent:
    """A display that shows nothing."""

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:  # noqa: ARG002 (the protocol has them)
        """Return a function that does nothing."""
        return lambda _: None

    def detail(self, text: str) -> None:
        """Discard the text."""

    def note(self, text: str) -> None:
        """Discard the text."""


class _Shown:
    """One bar at a time on a terminal; elsewhere a line for each stage and for every LINES_EVERY-th detail."""

    def __init__(self, console: "Console", bars: "RichProgress") -> None:
        self._console = console
        self._bars = bars
        self._n_details = 0

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:
        """Replace the bar of the stage before."""
        for old in list(self._bars.task_ids):
            self._bars.remove_task(old)
        task = self._bars.add_task(name, total=total, detail="")
        if not self._console.is_terminal and total != 0:
            self._console.print(name if total is None else f"{name}: {total:,}")
        return lambda n: self._bars.advance(task, n)

    def detail(self, text: str) -> None:
        """Show the text to the right of the bar."""
        for task in self._bars.task_ids:
            self._bars.update(task, detail=text)
        if not self._console.is_terminal and self._n_details % LINES_EVERY == 0:
            self._console.print(text, markup=False)
        self._n_details += 1

    def note(self, text: str) -> None:
        """Print the line above the bar."""
        self._console.print(text, markup=False)


@contextmanager
def shown_on_stderr() -> Iterator[Display]:
    """A display on stderr: a bar if stderr is a terminal, plain lines otherwise."""
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    from cdesearch.progress_columns import Count, Speed

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), Count(), Speed())
    texts = (TextColumn("{task.fields[detail]}", markup=False), TimeRemainingColumn())
    with RichProgress(*columns, *texts, console=console, transient=True, disable=not console.is_terminal) as bars:
        yield _Shown(console, bars)
