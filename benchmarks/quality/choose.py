"""The command `choose`: which constants of the search are best on development data, and how certain is that?"""

import tomllib
from collections.abc import Iterator, Sequence
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
from benchmarks.datasets.samples import has_long_documents, read_domain, read_long_documents
from benchmarks.folders.questions import QUESTIONS, development_set
from benchmarks.measurement import RESULTS, Measurement, command, make_results_folder, measure
from benchmarks.measures import measure_run
from benchmarks.systems.contextual import corpus_context, vectors_in
from benchmarks.systems.system import DEPTH
from benchmarks.systems.text import Rows, bm25_scores, candidates_of, run_of, stemmed
from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError
from cdesearch.search.fusion import Candidates, EvidenceFusion

CUTOFF = 10
MEASURE = f"nDCG@{CUTOFF}"
PLAN = Path(__file__).parent / "fusion.toml"
SEED = 0  # of the context


@dataclass(frozen=True, slots=True)
class Variant:
    """One choice of all constants."""

    weight: float  # of text
    k1: float
    b: float
    document_weight: float | None = None  # of the document context; None: that of the model

    def __str__(self) -> str:
        document = "" if self.document_weight is None else f", document weight {self.document_weight:g}"
        return f"text weight {self.weight:g}, k1 {self.k1:g}, b {self.b:g}{document}"


@dataclass(frozen=True, slots=True)
class ChooseSettings:
    """The options of `choose`."""

    data: Annotated[
        list[Path] | None, typer.Argument(help="Pair files and long documents on which no model was trained.")
    ] = None
    plan: Annotated[Path, typer.Option(help="TOML file with the baseline and the grid of variants.")] = PLAN
    documents: Annotated[int, typer.Option(min=10, help="Documents of a domain, or chunks of long documents.")] = 1500
    characters: Annotated[int, typer.Option(min=10, help="Characters to which each of them is cut.")] = 1000
    queries: Annotated[int, typer.Option(min=1, help="Queries of each of these sets.")] = 200
    folders: Annotated[
        Path | None, typer.Option(help="Add the half to choose by of the folder benchmark, whose files are here.")
    ] = None
    model: Annotated[Path | None, typer.Option(help="cdesearch checkpoint; default: the model that ships.")] = None
    work: Annotated[Path, typer.Option(help="Folder for vectors, which later runs read again.")] = Path("runs/choose")
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS


@command
def choose(settings: ChooseSettings) -> None:
    """Compare all variants of a grid on development sets, and tell how far the best may be trusted."""
    if len(settings.data or []) < 2 and settings.folders is None:
        raise InputError("There is no other set to choose by if the only one is left out.", "Name two or more.")
    baseline, variants = read_grid(settings.plan)
    make_results_folder(settings.out)
    encoder = load_encoder(settings.model)
    kinds, names, rows = [], [], []
    for kind, dataset in development_sets(settings):
        kinds.append(kind)
        names.append(dataset.name)
        rows.append(scores_of(dataset, encoder, settings.work, [baseline, *variants]))
        print(f"{dataset.name}: baseline {rows[-1][0]:.1f}, best {rows[-1].max():.1f}", flush=True)
    scores = dict(zip(map(str, [baseline, *variants]), np.transpose(rows).tolist(), strict=True))
    size = {name: getattr(settings, name) for name in ("documents", "characters", "queries")}
    suites = {settings.plan.stem: partial(compare_variants, variants, np.array(rows), kinds)}
    measure("choose", suites, {"sets": names, **size, "scores": scores}, settings.out)


def development_sets(settings: ChooseSettings) -> Iterator[tuple[str, Dataset]]:
    """The kind and the contents of each set: domains and long documents, and the folder benchmark's."""
    for file in settings.data or ():
        is_long = has_long_documents(file)
        read = read_long_documents if is_long else read_domain
        yield (
            "long documents" if is_long else "domains",
            read(file, settings.documents, settings.characters, settings.queries),
        )
    if settings.folders is not None:
        for questions in sorted(QUESTIONS.glob("*.jsonl")):
            yield "folders", development_set(questions.stem, settings.folders)


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
        for one in (baseline, *variants):
            str(one)  # raises ValueError for a constant of another kind
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{plan} is not a grid ({error}).", f"See {PLAN} for one.") from None
    return baseline, list(dict.fromkeys(variants))


def scores_of(dataset: Dataset, encoder: Encoder, work: Path, variants: Sequence[Variant]) -> NDArray[np.float64]:
    """The mean nDCG@10 x 100 of each variant. Chunks are ranked as those of files, whose words count chunk by chunk."""
    context = corpus_context(encoder, dataset, SEED, work)
    words = stemmed(dataset)
    text = {(k1, b): bm25_scores(words, k1, b) for k1, b in {(one.k1, one.b) for one in variants}}

    @cache
    def vectors(document_weight: float) -> tuple[Floats, Floats]:
        return vectors_in(context, dataset, encoder, work, document_weight)

    @cache
    def candidates(k1: float, b: float, document_weight: float, *depths: int) -> list[tuple[Rows, Candidates]]:
        return candidates_of(vectors(document_weight), text[k1, b], *depths)

    def score(one: Variant) -> float:
        fusion = EvidenceFusion(text_weight=one.weight)
        weight = encoder.config.document_weight if one.document_weight is None else one.document_weight
        found = candidates(one.k1, one.b, weight, fusion.dense_depth(DEPTH), fusion.text_depth(DEPTH))
        run = run_of(dataset, found, fusion, CUTOFF)
        return float(measure_run(dataset.judgements, run, [MEASURE])[MEASURE].mean())

    return np.array([score(one) for one in variants])


def compare_variants(
    variants: Sequence[Variant], scores: NDArray[np.float64], kinds: Sequence[str]
) -> list[Measurement]:
    """What each variant gains over the baseline, best first, and what choosing from other sets gains and regrets.

    `scores` is (sets, 1 + variants) with the baseline first, and `kinds` has the kind of each set. The interval of a
    gain is Student's over the sets.
    """
    baseline, scores = scores[:, 0], scores[:, 1:]
    gains = scores - baseline[:, None]
    order = np.argsort(-gains.mean(axis=0), kind="stable")
    found = [Measurement("the baseline", float(baseline.mean()), "nDCG@10 x 100")]
    for column in order:
        gained = gains[:, column]
        by_kind = {kind: float(gained[[one == kind for one in kinds]].mean()) for kind in dict.fromkeys(kinds)}
        detail = {**_interval(gained), "kinds": by_kind}
        found.append(Measurement(str(variants[column]), float(gained.mean()), "points", detail=detail))
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
