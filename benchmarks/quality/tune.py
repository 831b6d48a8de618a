"""The command `tune`: what does `cdesearch tune` gain or lose on development domains?"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from cdesearch.evaluation.tuning import choose_weight

from benchmarks.datasets.dataset import Dataset
from benchmarks.datasets.domain import read_domain
from benchmarks.measurement import RESULTS, Measurement, measure
from cdesearch.evaluation.measures import DEPTH
from cdesearch.evaluation.own_questions import make_questions
from cdesearch.evaluation.questions import Question
from cdesearch.evaluation.ranking import Asked, asking, by_both
from cdesearch.progress import Silent
from cdesearch.search.documents import DocumentReader
from cdesearch.search.fusion import TEXT_WEIGHT, EvidenceFusion
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options

UNIT = f"nDCG@{DEPTH} x 100"


@dataclass(frozen=True, slots=True)
class Sets:
    """The questions of one domain, asked."""

    test: Sequence[Asked]
    labelled: Sequence[Asked]  # other queries of the same domain
    own: Sequence[Asked]  # made from the index


def tune(
    data: Annotated[list[Path], typer.Argument(help="Pair files of domains on which the model was not trained.")],
    documents: Annotated[int, typer.Option(help="Documents of each domain.")] = 600,
    characters: Annotated[int, typer.Option(help="Characters to which every document is cut.")] = 1000,
    tests: Annotated[int, typer.Option(help="Queries of each domain by which the weight is tested.")] = 100,
    labelled: Annotated[int, typer.Option(help="Other queries, by which it is chosen.")] = 50,
    own: Annotated[int, typer.Option(help="Questions made from the index, by which it is chosen as well.")] = 100,
    work: Annotated[Path, typer.Option(help="Folder for the indexes, which later runs use again.")] = Path("runs/tune"),
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Compare the default weight of text with the one that `cdesearch tune` chooses for each domain."""
    gains: dict[str, list[float]] = {}

    def of_domain(file: Path) -> list[Measurement]:
        domain = read_domain(file, documents, characters, tests + labelled)
        return compared(asked_domain(domain, work / domain.name, tests, own), gains)

    suites = {file.stem: partial(of_domain, file) for file in data}
    settings = {"documents": documents, "characters": characters, "tests": tests, "labelled": labelled, "own": own}
    measure("tune", suites | {"all": partial(summarised, gains)}, settings, out)


def asked_domain(domain: Dataset, work: Path, n_tests: int, n_own: int) -> Sets:
    """Index a domain and ask its queries, the first `n_tests` as a test, and the questions made from the index."""
    work.mkdir(parents=True, exist_ok=True)
    corpus = work / "corpus.jsonl"
    rows = [{"_id": name, "text": text} for name, text in zip(domain.ids, domain.texts, strict=True)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if not corpus.exists() or corpus.read_text(encoding="utf-8") != text:
        corpus.write_text(text, encoding="utf-8")
    build([corpus], Options(index=work / "index"), Silent())
    index = Index(work / "index")
    chunks: dict[str | None, set[str]] = {}
    for chunk in DocumentReader(index).file(corpus.name):
        chunks.setdefault(chunk.record, set()).add(chunk.id)
    real = [
        Question(query, "real", frozenset().union(*(chunks[document] for document in domain.judgements[name])))
        for name, query in domain.queries.items()
    ]
    with asking(index) as opened:
        asked = opened.ask([*real, *make_questions(index, n_own)], lambda _: None)
    return Sets(asked[:n_tests], asked[n_tests : len(real)], asked[len(real) :])


def compared(sets: Sets, gains: dict[str, list[float]]) -> list[Measurement]:
    """The quality with the default weight, and what each choice gains, which is also added to `gains`."""
    before = _reached(sets.test, TEXT_WEIGHT)
    found = [Measurement("default", before, UNIT)]
    for name, asked in (("own questions", sets.own), ("labelled questions", sets.labelled)):
        tuning = choose_weight(asked, TEXT_WEIGHT)
        weight = tuning.best if tuning.is_significant else TEXT_WEIGHT
        gain = _reached(sets.test, weight) - before
        gains.setdefault(name, []).append(gain)
        detail = {"weight": weight, "preferred": tuning.best, "low": tuning.gain.low, "high": tuning.gain.high}
        found.append(Measurement(f"tuned by {name}", gain, "points", detail=detail))
    return found


def summarised(gains: dict[str, list[float]]) -> list[Measurement]:
    """The mean and the least gain over the domains."""
    return [
        Measurement(f"tuned by {name}", float(np.mean(some)), "points", detail={"worst": min(some), "n": len(some)})
        for name, some in gains.items()
    ]


def _reached(asked: Sequence[Asked], weight: float) -> float:
    """The mean nDCG of questions with one right document each, of which a search finds the best chunk."""
    ranks = [by_both(one, EvidenceFusion(weight)) for one in asked]
    return float(np.mean([0.0 if rank is None else 100.0 / np.log2(1 + rank) for rank in ranks]))
