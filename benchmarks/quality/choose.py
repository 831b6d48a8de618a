"""The command `choose`: which constants of the search are best on development data, and how certain is that?"""

import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from scipy import stats

from benchmarks.datasets.dataset import Dataset
from benchmarks.datasets.domain import read_domain
from benchmarks.measurement import RESULTS, Measurement, measure
from benchmarks.quality.measures import measure_run
from benchmarks.systems.contextual import Contextual
from benchmarks.systems.fused import Rows, candidates_of, run_of
from benchmarks.systems.system import DEPTH
from benchmarks.systems.text import STOP_WORDS, StopWords, bm25_scores, expected_idf, stemmed
from benchmarks.systems.weighted_z import WeightedSum, WeightedZ
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError
from cdesearch.search.fusion import Candidates, EvidenceFusion, Fusion

CUTOFF = 10
MEASURE = f"nDCG@{CUTOFF}"
PLAN = Path(__file__).parent / "fusion.toml"
FUSIONS = ("evidence", "z by context", "z by candidates", "sum")


@dataclass(frozen=True, slots=True)
class Bm25Constants:
    """What BM25 depends on."""

    k1: float
    b: float
    stop_words: StopWords


@dataclass(frozen=True, slots=True)
class Variant:
    """One choice of all constants."""

    fusion: str
    weight: float  # of text
    k1: float
    b: float
    stop_words: StopWords = "english"

    @property
    def bm25(self) -> "Bm25Constants":
        """The constants of its BM25."""
        return Bm25Constants(self.k1, self.b, self.stop_words)

    def __str__(self) -> str:
        words = "" if self.stop_words == "english" else f", stop words: {self.stop_words}"
        return f"{self.fusion}, text weight {self.weight:g}, k1 {self.k1:g}, b {self.b:g}{words}"

    def make(self) -> Fusion:
        """The fusion with this weight."""
        if self.fusion == "evidence":
            return EvidenceFusion(text_weight=self.weight)
        if self.fusion == "sum":
            return WeightedSum(self.weight)
        return WeightedZ(self.weight, by_context=self.fusion == "z by context")


def choose(
    data: Annotated[list[Path], typer.Argument(help="Pair files of domains on which the model was not trained.")],
    plan: Annotated[Path, typer.Option(help="TOML file with the baseline and the grid of variants.")] = PLAN,
    documents: Annotated[int, typer.Option(help="Documents of each domain.")] = 1500,
    characters: Annotated[int, typer.Option(help="Characters to which every document is cut.")] = 1000,
    queries: Annotated[int, typer.Option(help="Queries of each domain.")] = 200,
    model: Annotated[Path | None, typer.Option(help="cdesearch checkpoint; default: the model that ships.")] = None,
    work: Annotated[Path, typer.Option(help="Folder for vectors, which later runs read again.")] = Path("runs/choose"),
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Compare all variants of a grid on development domains, and tell how far the best may be trusted."""
    baseline, variants = read_grid(plan)
    dense = Contextual(load_encoder(model), work, "true")
    rows = []
    for file in data:
        domain = read_domain(file, documents, characters, queries)
        rows.append(scores_of(domain, dense, [baseline, *variants]))
        print(f"{domain.name}: baseline {rows[-1][0]:.1f}, best {rows[-1].max():.1f}", flush=True)
    settings = {
        "domains": [file.stem for file in data],
        "documents": documents,
        "characters": characters,
        "queries": queries,
        "scores": {str(one): row for one, row in zip([baseline, *variants], np.transpose(rows).tolist(), strict=True)},
    }
    measure("choose", {plan.stem: partial(compare_variants, variants, np.array(rows))}, settings, out)


def read_grid(plan: Path) -> tuple[Variant, list[Variant]]:
    """The baseline and all combinations of the grid; raises InputError."""
    try:
        planned = tomllib.loads(plan.read_text(encoding="utf-8"))
        baseline = Variant(**planned["baseline"])
        variants = [
            Variant(**dict(zip(table, values, strict=True)))
            for table in planned["grid"]
            for values in product(*table.values())
        ]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{plan} is not a grid ({error}).", f"See {PLAN} for one.") from None
    if unknown := {one.fusion for one in (baseline, *variants)} - set(FUSIONS):
        raise InputError(f"{plan} names an unknown fusion: {', '.join(unknown)}.", f"Known are {', '.join(FUSIONS)}.")
    if unknown_words := {one.stop_words for one in (baseline, *variants)} - set(STOP_WORDS):
        raise InputError(
            f"{plan} names unknown stop words: {', '.join(unknown_words)}.", f"Known are {', '.join(STOP_WORDS)}."
        )
    return baseline, list(dict.fromkeys(variants))


def scores_of(dataset: Dataset, dense: Contextual, variants: Sequence[Variant]) -> NDArray[np.float64]:
    """The mean nDCG@10 x 100 of each variant."""
    vectors = dense.vectors(dataset)
    words = {name: stemmed(dataset, name) for name in {one.stop_words for one in variants}}
    idf = {name: expected_idf(some) for name, some in words.items()}
    text = {
        one: bm25_scores(words[one.stop_words], one.k1, one.b) / idf[one.stop_words]
        for one in {variant.bm25 for variant in variants}
    }

    @cache
    def candidates(bm25: Bm25Constants, dense_depth: int, text_depth: int) -> list[tuple[Rows, Candidates]]:
        return candidates_of(vectors, text[bm25], dense_depth, text_depth)

    def score(one: Variant) -> float:
        fusion = one.make()
        found = candidates(one.bm25, fusion.dense_depth(DEPTH), fusion.text_depth(DEPTH))
        return float(measure_run(dataset.judgements, run_of(dataset, found, fusion, CUTOFF), [MEASURE])[MEASURE].mean())

    return np.array([score(one) for one in variants])


def compare_variants(variants: Sequence[Variant], scores: NDArray[np.float64]) -> list[Measurement]:
    """What each variant gains over the baseline, best first, and what choosing from other sets gains and regrets.

    `scores` is (sets, 1 + variants) with the baseline first. The interval of a gain is Student's over the sets.
    """
    baseline, scores = scores[:, 0], scores[:, 1:]
    gains = scores - baseline[:, None]
    order = np.argsort(-gains.mean(axis=0), kind="stable")
    found = [Measurement("the baseline", float(baseline.mean()), "nDCG@10 x 100")]
    found += [
        Measurement(str(variants[column]), float(gains[:, column].mean()), "points", detail=_interval(gains[:, column]))
        for column in order
    ]
    chosen = [int(np.delete(scores, left_out, axis=0).mean(axis=0).argmax()) for left_out in range(len(scores))]
    rows = np.arange(len(scores))
    fresh, regret = gains[rows, chosen], scores.max(axis=1) - scores[rows, chosen]
    names = {"chosen": [asdict(variants[column]) for column in chosen]}
    found += [
        Measurement("gain on the set left out", float(fresh.mean()), "points", detail={**_interval(fresh), **names}),
        Measurement("regret on the set left out", float(regret.mean()), "points", detail=_interval(regret)),
    ]
    return found


def _interval(values: NDArray[np.float64]) -> dict[str, Any]:
    """The 95% interval of the mean over the sets, the worst set, and on how many sets the value is positive."""
    half = float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)) if len(values) > 1 else float("inf")
    mean = float(values.mean())
    return {"low": mean - half, "high": mean + half, "worst": float(values.min()), "above": int((values > 0).sum())}
