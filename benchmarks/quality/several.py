"""The command `several`: do several indexes that are searched as one rank as well as one index of all documents?"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.datasets.dataset import Dataset
from benchmarks.datasets.samples import read_domain
from benchmarks.measurement import RESULTS, Measurement, make_results_folder, measure
from benchmarks.measures import measure_run
from benchmarks.systems.product import index_texts
from cdesearch.errors import InputError
from cdesearch.search.options import Mode
from cdesearch.search.searcher import Searcher
from cdesearch.search.together import Together
from cdesearch.store.schema import Hit

CUTOFF = 10
MEASURE = f"nDCG@{CUTOFF}"
MODES: tuple[Mode, ...] = ("hybrid", "dense", "text")
SHARDS = 3


@dataclass(frozen=True, slots=True)
class Corpora:
    """Open indexes of three corpora, of all their documents, and of random parts of the first corpus."""

    sets: tuple[Dataset, ...]
    whole: Searcher
    alone: tuple[Searcher, ...]
    shards: tuple[Searcher, ...]


def several(
    data: Annotated[list[Path], typer.Argument(help="Pair files of domains, two or more.")],
    documents: Annotated[int, typer.Option(help="Documents of each domain.")] = 600,
    characters: Annotated[int, typer.Option(help="Characters to which every document is cut.")] = 1000,
    queries: Annotated[int, typer.Option(help="Questions of each domain.")] = 100,
    work: Annotated[Path, typer.Option(help="Folder for the indexes.")] = Path("runs/several"),
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Compare several indexes that are searched as one with one index of all documents."""
    if len(data) < 2:
        raise InputError("One domain is one index.", "Name two or more.")
    make_results_folder(out)
    sets = [read_domain(one, documents, characters, queries) for one in data]
    settings = {"data": [one.name for one in sets], "documents": documents, "characters": characters}
    with ExitStack() as stack:
        corpora = _corpora(sets, work / "-".join(one.name for one in sets), stack)
        suites = {sets[0].name: partial(_measurements, corpora)}
        measure("several", suites, settings | {"queries": queries}, out)


def _corpora(sets: Sequence[Dataset], folder: Path, stack: ExitStack) -> Corpora:
    rows = [list(zip(one.ids, one.texts, strict=True)) for one in sets]
    order = np.random.default_rng(1).permutation(len(rows[0])).tolist()

    def opened(name: str, own: Sequence[tuple[str, str]]) -> Searcher:
        return stack.enter_context(Searcher(index_texts(folder / name, own)))

    return Corpora(
        tuple(sets),
        opened("all", list(chain.from_iterable(rows))),
        tuple(opened(one.name, own) for one, own in zip(sets, rows, strict=True)),
        tuple(opened(f"shard{n}", [rows[0][row] for row in order[n::SHARDS]]) for n in range(SHARDS)),
    )


def _measurements(corpora: Corpora) -> list[Measurement]:
    first = (corpora.sets[0],)
    found: list[Measurement] = []
    for mode in MODES:
        found += _figures(f"{mode}, {len(corpora.sets)} corpora", corpora.sets, corpora.whole, corpora.alone, mode)
        found += _figures(f"{mode}, {SHARDS} shards", first, corpora.alone[0], corpora.shards, mode)
    return found


def _figures(
    name: str, sets: Sequence[Dataset], whole: Searcher, parts: Sequence[Searcher], mode: Mode
) -> Iterator[Measurement]:
    """Measure one index of all documents, and the indexes searched as one."""
    runs: dict[str, dict[tuple[str, str], list[Hit]]] = {}
    together = Together({str(number): part for number, part in enumerate(parts)})
    for one in sets:
        for query, text in one.queries.items():
            answers = {
                "one index": list(whole.search(text, CUTOFF, mode)),
                "merged by confidence": list(together.search(text, CUTOFF, mode)),
            }
            for system, hits in answers.items():
                runs.setdefault(system, {})[one.name, query] = hits
    for system, run in runs.items():
        scores = np.concatenate([_scores(one, run) for one in sets])
        wrong = [
            [hit.chunk.record not in own for hit in run[one.name, query]]
            for one, own in ((one, frozenset(one.ids)) for one in sets)
            for query in one.queries
        ]
        detail = {
            "wrong corpus, %": 100 * float(np.mean([np.mean(row) for row in wrong if row])),
            "wrong corpus of the first hit, %": 100 * float(np.mean([row[0] for row in wrong if row])),
        }
        yield Measurement(f"{name}: {system}", float(scores.mean()), f"{MEASURE} x 100", detail=detail)


def _scores(dataset: Dataset, run: Mapping[tuple[str, str], Sequence[Hit]]) -> np.ndarray:
    ranked = {query: [str(hit.chunk.record) for hit in run[dataset.name, query]] for query in dataset.queries}
    return measure_run(dataset.judgements, ranked, [MEASURE])[MEASURE]
