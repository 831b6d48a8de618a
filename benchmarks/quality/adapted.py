"""The command `adapted`: what does `cdesearch adapt`, which reads no labels, gain by labels?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.comparison import compare
from benchmarks.datasets.dataset import Dataset, read_dataset
from benchmarks.measurement import RESULTS, Measurement, measure
from benchmarks.quality.measures import measure_run
from benchmarks.systems.contextual import Contextual
from benchmarks.systems.fused import Fused
from cdesearch.encode.load import load_encoder
from cdesearch.models.checkpoint_files import DEFAULT_MODEL
from cdesearch.progress import shown_on_stderr
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options
from trainer.replacing import make_folder

TARGETS = {"dense": 0.7, "hybrid": 0.3}  # points, in the mean of all sets
LEAST = -0.5  # points, of a single set

Scores = Mapping[str, NDArray[np.float64]]  # nDCG@10 x 100 of every query, by kind of search


def adapted(
    data: Annotated[list[Path], typer.Argument(help="BEIR folders.")],
    minutes: Annotated[float, typer.Option(min=1, help="For the adaptation to each set.")] = 15.0,
    max_tokens: Annotated[int, typer.Option(min=1, help="Of a text in the comparison by labels.")] = 128,
    work: Annotated[Path, typer.Option(help="Folder for indexes and models, with which a run continues.")] = Path(
        "runs/adapted"
    ),
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Adapt the default model to the texts of each set without its labels, and compare both models by the labels.

    A set that `adapt` refuses, or for which it writes no model, keeps the default model and gains nothing.
    """
    comparing = _Comparing(work, minutes, max_tokens)
    suite = partial(comparing.measured, [read_dataset(folder) for folder in data])
    measure("adapted", {"labels": suite}, {"minutes": minutes, "max_tokens": max_tokens}, out)


@dataclass(frozen=True, slots=True)
class _Comparing:
    """Adapts the default model to data sets, and compares it with the result."""

    work: Path
    minutes: float
    max_tokens: int

    def measured(self, sets: list[Dataset]) -> list[Measurement]:
        """The gains of each set, and their means."""
        found: list[Measurement] = []
        gains: dict[str, list[float]] = {kind: [] for kind in TARGETS}
        for dataset in sets:
            model, told = self._adapted(dataset)
            for kind, row in self._gains(dataset, model, told):
                found.append(row)
                gains[kind].append(row.value)
        for kind, target in TARGETS.items():
            mean = float(np.mean(gains[kind]))
            found.append(Measurement(f"mean of {len(sets)}, {kind}", mean, "points", at_least=target))
        return found

    def _adapted(self, dataset: Dataset) -> tuple[Path | None, str]:
        """The adapted model if one is written, and what `adapt` says."""
        from trainer.adapting.adapt import TooSlowError, adapt
        from trainer.adapting.corpus import TooLittleTextError
        from trainer.adapting.result import told

        folder = self.work / dataset.name
        make_folder(folder)
        copyfile(dataset.folder / "corpus.jsonl", folder / "corpus.jsonl")
        with shown_on_stderr() as display:
            index = Index(build([folder], Options(), display).folder)
            try:
                result = adapt(index, index.folder.with_name(f"{index.folder.name}-adapted"), self.minutes, display)
            except (TooLittleTextError, TooSlowError) as refused:
                return None, str(refused)
        return result.model, " ".join(told(result))

    def _gains(self, dataset: Dataset, model: Path | None, told: str) -> Iterator[tuple[str, Measurement]]:
        before = self._scores(dataset, DEFAULT_MODEL)
        after = before if model is None else self._scores(dataset, model)
        for kind, scores in before.items():
            compared = compare(after[kind], scores)
            detail = {"before": scores.mean(), "after": after[kind].mean(), "low": compared.low, "high": compared.high}
            name = f"{dataset.name}, {kind}"
            yield (
                kind,
                Measurement(name, compared.difference, "points", at_least=LEAST, detail={**detail, "adapt": told}),
            )

    def _scores(self, dataset: Dataset, model: Path) -> Scores:
        """By vectors in document context, alone and fused with BM25."""
        encoder = load_encoder(model).truncated_to(self.max_tokens)
        with TemporaryDirectory() as vectors:
            dense = Contextual(encoder, Path(vectors), "document")
            runs = {"dense": dense.retrieve(dataset), "hybrid": Fused(dense).retrieve(dataset)}
            return {kind: measure_run(dataset.judgements, run)["nDCG@10"] for kind, run in runs.items()}
