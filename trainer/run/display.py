"""Where a run is shown: a bar on a terminal, plain lines elsewhere, or nowhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # a training machine may have no rich
    from rich.console import Console
    from rich.progress import Progress

LINES_EVERY = 20  # steps, where nobody watches a bar


class Display(Protocol):
    """Told what goes on."""

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:
        """Begin a stage; the result is called with how many more are done."""

    def step(self, figures: dict[str, float]) -> None:
        """One step's loss, accuracy and speed."""

    def note(self, text: str) -> None:
        """Something worth a line."""


class Silent:
    """Shows nothing."""

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:  # noqa: ARG002
        """Ignore it."""
        return lambda _: None

    def step(self, figures: dict[str, float]) -> None:
        """Ignore it."""

    def note(self, text: str) -> None:
        """Ignore it."""


class _Shown:
    def __init__(self, console: "Console", bars: "Progress") -> None:
        self._console = console
        self._bars = bars
        self._steps = 0

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:
        """A bar of its own, in place of the last."""
        for old in list(self._bars.task_ids):
            self._bars.remove_task(old)
        task = self._bars.add_task(name, total=total, figures="")
        if not self._console.is_terminal:
            self._console.print(name if total is None else f"{name}: {total:,}")
        return lambda n: self._bars.advance(task, n)

    def step(self, figures: dict[str, float]) -> None:
        """Beside the bar."""
        shown = "loss {loss:.3f}  accuracy {accuracy:.2f}  {pairs_per_second:.0f} pairs/s".format(**figures)
        for task in self._bars.task_ids:
            self._bars.update(task, figures=shown)
        if not self._console.is_terminal and self._steps % LINES_EVERY == 0:
            self._console.print(f"step {self._steps}  {shown}")
        self._steps += 1

    def note(self, text: str) -> None:
        """Above the bar."""
        self._console.print(text, markup=False)


@contextmanager
def shown_on_stderr() -> Iterator[Display]:
    """For a person."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        yield _Shown(console, bars)
