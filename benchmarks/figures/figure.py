"""A figure of lines or dots, stored as JSON and drawn as SVG."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from rich.table import Table

from benchmarks.machine import describe
from benchmarks.measurement import show

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure: named series of points."""

    name: str
    title: str
    x: str
    y: str
    series: Mapping[str, Points]
    kind: Literal["lines", "dots"] = "lines"
    log_x: bool = False
    x_names: Sequence[str] = ()  # names of x = 0, 1, ...

    def show(self) -> None:
        """Print the points as a table on the terminal."""
        table = Table("", self.x, self.y, title=self.title)
        for series, points in self.series.items():
            shown = points if self.kind == "lines" or len(points) <= 8 else points[:8]
            for x, y in shown:
                table.add_row(series, self.x_names[int(x)] if self.x_names else f"{x:g}", f"{y:.2f}")
        show(table)

    def save(self, folder: Path, settings: Mapping[str, Any]) -> list[Path]:
        """Write JSON and SVG into a folder that exists, named by figure, date and commit; returns the files."""
        machine = describe()
        stem = f"analysis-{self.name}-{machine['date']}-{machine['commit']}"
        files = [folder / f"{stem}.json", folder / f"{stem}.svg"]
        record = {"machine": machine, "settings": settings, "figure": asdict(self)}
        files[0].write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        self._draw(files[1])
        return files

    def _draw(self, file: Path) -> None:
        import matplotlib as mpl

        mpl.use("svg")
        from matplotlib import pyplot as plt

        figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
        for series, points in self.series.items():
            style = {"marker": "o"} if self.kind == "lines" else {"marker": "o", "linestyle": "", "alpha": 0.5}
            axes.plot(*zip(*points, strict=True), label=series, **style)
        if self.log_x:
            axes.set_xscale("symlog", base=2, linthresh=1)
        if self.x_names:
            axes.set_xticks(range(len(self.x_names)), self.x_names)
        axes.set_title(self.title)
        axes.set_xlabel(self.x)
        axes.set_ylabel(self.y)
        axes.legend(fontsize="small")
        figure.savefig(file)
        plt.close(figure)
