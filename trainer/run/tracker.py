"""The numbers of a run in trackio, a library that keeps them on this machine and shows them as charts."""

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

NOT_INSTALLED = "trackio is not installed, and run.trackio needs it."
INSTALL = "Run `pip install trackio`, or leave run.trackio out."


class Tracker:
    """A run in a project of trackio; it has the name of the run's folder, and a resumed run continues it.

    trackio must be installed. `trackio show` shows the charts. Nothing leaves this machine.
    """

    def __init__(self, project: str, folder: Path, *, anew: bool) -> None:
        import trackio

        self._trackio: Any = trackio
        with redirect_stdout(sys.stderr):
            trackio.init(
                project=project,
                name=folder.name,
                resume="never" if anew else "allow",
                embed=False,
                auto_log_cpu=False,
                auto_log_gpu=False,
            )

    def write(self, step: int, figures: Mapping[str, float]) -> None:
        """Add the numbers of a step."""
        self._trackio.log(dict(figures), step=step)

    def finish(self) -> None:
        """Wait until all numbers are stored."""
        with redirect_stdout(sys.stderr):
            self._trackio.finish()
