"""Columns of a progress bar: how much is done, and how fast."""

from rich.progress import ProgressColumn, Task
from rich.text import Text


class Count(ProgressColumn):
    """How many units are done."""

    def render(self, task: Task) -> Text:
        """How many units are done, and of how many where that is known."""
        done = f"{task.completed:,.0f}" if task.completed or task.total else ""
        return Text(f"{done}/{task.total:,.0f}" if task.total else done, style="progress.download")


class Speed(ProgressColumn):
    """Units a second."""

    def render(self, task: Task) -> Text:
        """How many units are done in a second."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s", style="progress.data.speed")
