"""The command that draws the paper's figures about the effect of the context, from any model and data."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from rich.table import Table

from benchmarks.datasets.dataset import Dataset, read_dataset
from benchmarks.machine import describe
from benchmarks.measurement import RESULTS, make_results_folder, show
from benchmarks.measures import measure_run
from benchmarks.systems.contextual import embed_in, uniform_context, vectors_in
from benchmarks.systems.system import nearest
from benchmarks.systems.text import Bm25
from cdesearch.context.context import Context
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError

Points = Sequence[tuple[float, float]]
SIZES = (1, 8, 32, 64, 128, 256, 512)
CHARACTERS = (32, 64, 128, 256, 512, 1024, 2048)
DRAWN = 400  # documents whose vectors appear in a figure


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


def context_size(datasets: Sequence[Dataset], encoder: Encoder, work: Path) -> Drawing:
    """nDCG@10 by the number of context documents (CDE, figure 16)."""
    series = {}
    for dataset in datasets:
        points = [(0.0, _ndcg(None, dataset, encoder, work))]
        for size in SIZES:
            context = uniform_context(encoder, dataset, 0, size)
            points.append((float(size), _ndcg(context, dataset, encoder, work)))
        series[dataset.name] = points
    return Drawing("context-size", "How many documents of context?", "documents", "nDCG@10 x 100", series, log_x=True)


def context_length(datasets: Sequence[Dataset], encoder: Encoder, work: Path) -> Drawing:
    """nDCG@10 by the length of each context document (CDE, section 10.11)."""
    series = {}
    for dataset in datasets:
        contexts = [(n, uniform_context(encoder, dataset, 0, characters=n)) for n in CHARACTERS]
        series[dataset.name] = [(float(n), _ndcg(context, dataset, encoder, work)) for n, context in contexts]
    title = "How much of each document of context?"
    return Drawing("context-length", title, "characters of a context document", "nDCG@10 x 100", series, log_x=True)


def foreign_context(datasets: Sequence[Dataset], encoder: Encoder, work: Path) -> Drawing:
    """The gain of the context of one corpus in another over no context (CDE, table 2 and figure 7)."""
    series = {}
    plain = [_ndcg(None, dataset, encoder, work) for dataset in datasets]
    for source in datasets:
        context = uniform_context(encoder, source, 0)
        found = [_ndcg(context, dataset, encoder, work) for dataset in datasets]
        gains = [with_it - without for with_it, without in zip(found, plain, strict=True)]
        series[f"context of {source.name}"] = [(float(position), gain) for position, gain in enumerate(gains)]
    names = tuple(dataset.name for dataset in datasets)
    title, y = "The context of one corpus in another", "nDCG@10 x 100 above no context"
    return Drawing("foreign-context", title, "data set", y, series, kind="dots", x_names=names)


def movement(datasets: Sequence[Dataset], encoder: Encoder, work: Path) -> Drawing:
    """The vectors of the same documents in different contexts, in two principal components (CDE, figure 15)."""
    first = datasets[0]
    texts = first.texts[:DRAWN]
    contexts: dict[str, Context | None] = {"no context": None}
    contexts |= {f"context of {source.name}": uniform_context(encoder, source, 0) for source in datasets[:3]}
    vectors = {name: embed_in(context, texts, "document", encoder, work) for name, context in contexts.items()}
    together = np.concatenate(list(vectors.values())).astype(np.float64)
    axes = np.linalg.svd(together - together.mean(axis=0), full_matrices=False)[2][:2]
    series = {
        name: [(float(x), float(y)) for x, y in (found - together.mean(axis=0)) @ axes.T]
        for name, found in vectors.items()
    }
    title = f"Documents of {first.name} in different contexts"
    return Drawing("movement", title, "first component", "second component", series, kind="dots")


def idf_divergence(datasets: Sequence[Dataset], encoder: Encoder, work: Path) -> Drawing:
    """Gain over BM25 by the divergence of a corpus' token frequencies from those of the others (CDE, figure 8)."""
    counted = [encoder.count_tokens(dataset.texts) for dataset in datasets]
    shares = [(part.counts + 0.5) / (part.n_texts + 1) for part in counted]
    series = {}
    for position, dataset in enumerate(datasets):
        others = np.mean([share for other, share in enumerate(shares) if other != position], axis=0)
        own = shares[position] / shares[position].sum()
        divergence = float((own * np.log(own / (others / others.sum()))).sum())
        dense = _ndcg(uniform_context(encoder, dataset, 0), dataset, encoder, work)
        text = float(measure_run(dataset.judgements, Bm25().retrieve(dataset))["nDCG@10"].mean())
        series[dataset.name] = [(divergence, dense - text)]
    x = "Kullback-Leibler divergence of token frequencies from the other corpora"
    return Drawing("idf-divergence", "Where is the gain over BM25?", x, "nDCG@10 x 100 above BM25", series, kind="dots")


def _ndcg(context: Context | None, dataset: Dataset, encoder: Encoder, work: Path) -> float:
    run = nearest(dataset, *vectors_in(context, dataset, encoder, work))
    return round(float(measure_run(dataset.judgements, run)["nDCG@10"].mean()), 3)


FIGURES = {
    "context-size": context_size,
    "context-length": context_length,
    "foreign-context": foreign_context,
    "movement": movement,
    "idf-divergence": idf_divergence,
}
SEVERAL = ("foreign-context", "idf-divergence")


def analyse(
    figure: Annotated[str, typer.Argument(help=f"One of {', '.join(FIGURES)}.")],
    data: Annotated[list[Path], typer.Argument(help="BEIR folders.")],
    model: Annotated[Path | None, typer.Option(help="cdesearch checkpoint; default: the model that ships.")] = None,
    work: Annotated[Path, typer.Option(help="Folder for vectors, which later runs use again.")] = Path(
        "runs/beir/vectors"
    ),
    out: Annotated[Path, typer.Option(help="Folder for the JSON and the picture.")] = RESULTS,
) -> None:
    """Draw one of the paper's figures from any model and data."""
    make_results_folder(out)
    if figure not in FIGURES:
        raise InputError(f"There is no figure {figure}.", f"Name one of {', '.join(FIGURES)}.")
    if figure in SEVERAL and len(data) < 2:
        raise InputError(f"{figure} compares data sets.", "Name two or more.")
    drawing = FIGURES[figure]([read_dataset(folder) for folder in data], load_encoder(model), work)
    drawing.show()
    for file in drawing.save(out, {"data": [folder.name for folder in data], "model": str(model or "default")}):
        print(f"Written to {file}")
