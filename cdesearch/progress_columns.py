"""Columns of a progress bar: the units done, and the speed."""

from rich.progress import ProgressColumn, Task
from rich.text import Text


class Count(ProgressColumn):
    """How many units are done."""

    def render(self, task: Task) -> Text:
        """How many units are done, and of how many if that is known."""
        done = f"{task.completed:,.0f}" if task.completed or task.total else ""
        return Text(f"{done}/{task.total:,.0f}" if task.total else done, style="progress.download")


class Speed(ProgressColumn):
    """The speed, in units per second."""

    def render(self, task: Task) -> Text:
        """The number of units per second; nothing until a unit is done."""
        speed = task.finished_speed or task.speed
        return Text("" if not speed else f"{speed:,.0f}/s", style="progress.data.speed")
