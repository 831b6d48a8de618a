"""The command `confidence`: are confidences calibrated, and do they tell which questions a corpus answers?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, cast, get_args

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

from benchmarks.datasets.dataset import Dataset, read_dataset
from benchmarks.measurement import RESULTS, Measurement, make_results_folder, measure
from benchmarks.systems.product import index_texts
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError
from cdesearch.search.options import Mode
from cdesearch.search.result import ANSWERABLE
from cdesearch.search.searcher import Searcher
from trainer.data.pairs.reading import domain_name, read_pairs

Kind = Literal["own", "removed", "foreign"]
WEIGHTS: Mapping[Kind, float] = {"own": 1.0, "removed": 0.5, "foreign": 0.5}  # of a question of each kind
TARGET = 0.85  # of the area under the ROC curve
BINS = 10  # of equal width, of the calibration error

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with its hits."""

    kind: Kind
    confidence: Values  # (n,) of its hits
    relevant: NDArray[np.bool_]  # (n,)

    @property
    def best(self) -> float:
        """The best confidence, by which a question may be refused."""
        return float(self.confidence.max(initial=0.0))


@dataclass(frozen=True, slots=True)
class Corpus:
    """An index without the documents that are relevant to the removed questions."""

    searcher: Searcher
    own: Mapping[str, frozenset[str]]  # from a question to its relevant documents that are in the index
    removed: tuple[str, ...]

    @classmethod
    def of(cls, dataset: Dataset, queries: int, work: Path, encoder: Encoder) -> "Corpus":
        """Build the index of a data set. Every other question of the first `queries` is a removed one."""
        names = list(dataset.queries)[:queries]
        judged = {
            name: frozenset(one for one, grade in dataset.judgements[name].items() if grade > 0) for name in names
        }
        left_out = frozenset[str]().union(*(judged[name] for name in names[1::2]))
        texts = [row for row in zip(dataset.ids, dataset.texts, strict=True) if row[0] not in left_out]
        index = index_texts(work / f"{dataset.name}-{queries}-{len(dataset.ids)}", texts)
        own = {dataset.queries[name]: judged[name] - left_out for name in names[::2] if judged[name] - left_out}
        removed = tuple(dataset.queries[name] for name in names[1::2])
        return cls(Searcher(index, encoder), own, removed)

    def asked(self, foreign: Sequence[str], mode: Mode) -> Iterator[Asked]:
        """Ask the corpus its own questions, the removed ones and `foreign` ones."""
        kinds: tuple[tuple[Kind, Sequence[str]], ...] = (
            ("own", tuple(self.own)),
            ("removed", self.removed),
            ("foreign", foreign),
        )
        for kind, questions in kinds:
            found = self.searcher.search_many(questions, mode=mode)
            for question, result in zip(questions, found, strict=True):
                relevant = self.own.get(question, frozenset()) if kind == "own" else frozenset()
                yield Asked(
                    kind,
                    np.array([hit.confidence or 0.0 for hit in result]),
                    np.array([hit.chunk.record in relevant for hit in result], bool),
                )


def confidence(
    data: Annotated[list[Path], typer.Argument(help="Pair files of domains, and BEIR folders; at least two.")],
    documents: Annotated[int, typer.Option(help="Documents of each domain.")] = 600,
    characters: Annotated[int, typer.Option(help="Characters to which every document of a domain is cut.")] = 1000,
    queries: Annotated[int, typer.Option(help="Questions of each data set.")] = 120,
    modes: Annotated[str, typer.Option(help="Any of hybrid, dense and text.")] = ",".join(get_args(Mode)),
    work: Annotated[Path, typer.Option(help="Folder for the indexes.")] = Path("runs/confidence"),
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Ask each corpus its own questions, some whose relevant documents are left out, and those of another corpus."""
    if len(data) < 2:
        raise InputError("One data set has no questions of another one.", "Name two or more.")
    if unknown := set(modes.split(",")) - set(get_args(Mode)):
        raise InputError(f"There is no mode {', '.join(unknown)}.", f"Name some of {', '.join(get_args(Mode))}.")
    make_results_folder(out)
    encoder = load_encoder(None)
    size = {"documents": documents, "characters": characters, "queries": queries}
    sets = [read_dataset(one) if one.is_dir() else read_domain(one, **size) for one in data]
    corpora = [Corpus.of(one, queries, work, encoder) for one in sets]
    half = len(sets) // 2
    strangers = [tuple(corpus.own) for corpus in (*corpora[half:], *corpora[:half])]
    for mode in cast(list[Mode], modes.split(",")):
        asked = {
            one.name: list(corpus.asked(foreign, mode))
            for one, corpus, foreign in zip(sets, corpora, strangers, strict=True)
        }
        name = f"{mode}-{sets[0].name}"
        measure("confidence", {name: partial(measurements, asked)}, {"data": list(asked), **size}, out)


def read_domain(file: Path, documents: int, characters: int, queries: int) -> Dataset:
    """A sample of the documents of a pair file, each cut to `characters`, with one query for some of them.

    The sample is the same in every run.
    """
    asked: dict[str, str] = {}
    for pair in read_pairs(file):
        asked.setdefault(pair.document[:characters], pair.query)
    random = np.random.default_rng(0)
    every = list(asked)
    texts = [every[row] for row in random.permutation(len(every))[:documents]]
    name = domain_name(file)
    ids = tuple(f"{name}-{row}" for row in range(len(texts)))
    rows = random.permutation(len(texts))[:queries].tolist()
    questions = {f"query-{row}": asked[texts[row]] for row in rows}
    judged = {f"query-{row}": {ids[row]: 1} for row in rows}
    return Dataset(name, file, ids, tuple(texts), questions, judged, ())


def measurements(asked: Mapping[str, Sequence[Asked]]) -> list[Measurement]:
    """The figures of each data set, and of all questions together."""
    every = [one for some in asked.values() for one in some]
    found = [figure for name, some in asked.items() for figure in _figures(name, some)]
    return [*found, *_figures("all", every)]


def hits_of(asked: Sequence[Asked], n: int | None = None) -> tuple[Values, NDArray[np.bool_], Values]:
    """The confidence, the relevance and the weight of the best `n` hits of all questions, or of all hits."""
    weights = [np.full(len(one.confidence[:n]), WEIGHTS[one.kind]) for one in asked]
    return (
        np.concatenate([one.confidence[:n] for one in asked]),
        np.concatenate([one.relevant[:n] for one in asked]),
        np.concatenate(weights),
    )


def _figures(name: str, asked: Sequence[Asked]) -> Iterator[Measurement]:
    yield Measurement(f"{name}: calibration error of all hits", calibration_error(*hits_of(asked)), "")
    yield Measurement(f"{name}: calibration error of the best hits", calibration_error(*hits_of(asked, 1)), "")
    values = {kind: np.array([one.best for one in asked if one.kind == kind]) for kind in WEIGHTS}
    others = {"removed": values["removed"], "foreign": values["foreign"]}
    for kind, unanswered in (others | {"both": np.concatenate(list(others.values()))}).items():
        area = area_under_roc(values["own"], unanswered)
        yield Measurement(f"{name}: AUROC of the best confidence, own and {kind}", area, "", at_least=TARGET)
    for kind, best in values.items():
        yield Measurement(f"{name}: {kind} questions that are refused", 100 * float((best < ANSWERABLE).mean()), "%")


def area_under_roc(positive: Values, negative: Values) -> float:
    """The probability that a positive value is higher than a negative one; ties count half."""
    return float(mannwhitneyu(positive, negative).statistic / (len(positive) * len(negative)))


def calibration_error(predicted: Values, true: NDArray[np.bool_], weights: Values) -> float:
    """The expected calibration error of predictions (n,): the mean difference of their mean and the share that is true.

    Both are those of a bin, and each bin has the weight (n,) of what is in it.
    """
    bins = np.minimum((predicted * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(bins, weights * (predicted - true))).sum() / weights.sum())
