"""The command that trains several arms of one recipe and evaluates all of them in the same way."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.table import Table
from scipy import stats

from benchmarks.ablations.plan import Plan, planned_arms, read_plan
from benchmarks.datasets.dataset import Dataset, read_dataset
from benchmarks.machine import describe
from benchmarks.measurement import RESULTS, make_results_folder, show
from benchmarks.quality.measures import measure_run
from benchmarks.systems.contextual import Contextual
from benchmarks.systems.fused import Fused
from benchmarks.systems.stored import Stored
from benchmarks.systems.system import System
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError
from trainer.recipe import Recipe
from trainer.replacing import replace_text
from trainer.run.folder import claim_folder, has_begun
from trainer.run.log import read_log
from trainer.schema import parse, to_plain

CONTEXTS = ("true", "random", "null", "document")
KINDS = (*CONTEXTS, "fused")
MADE_WITH = "arm.json"  # beside a trained arm: its recipe, and how it is evaluated
MEASURED = "ndcg.json"
PLACES = ("run.out", "run.work")  # settings that may differ, because folders may be moved


@dataclass(frozen=True, slots=True)
class Arm:
    """A recipe, and the results of the model that it trained."""

    name: str
    seed: int
    recipe: dict[str, Any]
    # nDCG@10 x 100 by set and kind of context; "fused" is document fused with BM25, and the forms in which the plan
    # stores vectors are of document.
    ndcg: dict[str, dict[str, float]]
    held_out: list[dict[str, float]]  # losses by kind of context, before and after training
    minutes: float

    def mean(self, kind: str) -> float:
        """The mean of one kind over all sets."""
        return sum(row[kind] for row in self.ndcg.values()) / len(self.ndcg)


def ablation(
    plan: Annotated[Path, typer.Argument(help="TOML file; see benchmarks/ablations.")],
    data: Annotated[Path, typer.Argument(help="Folder that the paths of the plan are relative to.")],
    start: Annotated[Path, typer.Argument(help="Model that every arm starts from.")],
    work: Annotated[Path, typer.Option(help="Folder for the runs; with the same folder again, they continue.")] = Path(
        "runs/ablation"
    ),
    out: Annotated[
        Path, typer.Option(help="Folder for the JSON and the table. Arms of earlier JSON files there are not repeated.")
    ] = RESULTS,
) -> None:
    """Train every arm of a plan, with each seed that it names, and evaluate it with each kind of context and BM25."""
    if not start.is_dir():
        raise InputError(f"START is {start}, and there is no such folder.", "Name the folder of a model.")
    planned = read_plan(plan)
    make_results_folder(out)
    machine = describe()
    known = known_arms(planned, sorted(out.glob(f"{plan.stem}-*.json")))
    recipes = planned_arms(plan, planned, data, start, work / plan.stem)
    for name, recipe in recipes:
        earlier = known.get((name, recipe.run.seed))
        if earlier and (changed := changes(earlier.recipe, to_plain(recipe))):
            raise InputError(
                f"{out} has results of the arm {name} with another recipe ({'; '.join(changed)}).",
                f"Move {plan.stem}-*.json away from there, or name another --out.",
            )
    sets = [read_dataset(data / folder) for folder in planned.evaluate]
    for name, recipe in recipes:
        if (name, recipe.run.seed) not in known:
            _claim_arm(recipe, planned, sets)
    file = result_file(out, plan.stem, machine["date"], planned)
    arms = []
    for name, recipe in recipes:
        arms.append(known.get((name, recipe.run.seed)) or _train_and_measure(name, recipe, planned, sets))
        record = {"machine": machine, "plan": to_plain(planned), "arms": [asdict(arm) for arm in arms]}
        replace_text(file, json.dumps(record, indent=2) + "\n")
        _show(arms)


def known_arms(planned: Plan, results: Sequence[Path]) -> dict[tuple[str, int], Arm]:
    """The arms of earlier results by name and seed, from another machine too, if their plan differs only in seeds.

    Raises InputError for a file that is not a result.
    """
    found: dict[tuple[str, int], Arm] = {}
    for file in results:
        try:
            record = json.loads(file.read_text(encoding="utf-8"))
            earlier = [Arm(**arm) for arm in record["arms"]]
            is_same = _differs_only_in_seeds(record, planned)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{file} is not a result of an ablation ({error!r:.100}).", "Move it away.") from None
        found |= {(arm.name, arm.seed): arm for arm in earlier if is_same}
    return found


def _differs_only_in_seeds(record: Mapping[str, Any], planned: Plan) -> bool:
    return replace(parse(Plan, record["plan"]), seeds=planned.seeds) == planned


def result_file(out: Path, stem: str, date: str, planned: Plan) -> Path:
    """The file for the results of this day; one with results of another plan is not overwritten."""
    names = chain([f"{stem}-{date}.json"], (f"{stem}-{date}-{number}.json" for number in count(2)))
    return next(
        file
        for file in (out / name for name in names)
        if not file.exists() or _differs_only_in_seeds(json.loads(file.read_text(encoding="utf-8")), planned)
    )


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """`section.key: old -> new` for each key that two tables of tables both have with different values.

    The places of a run are left out.
    """
    return [
        f"{section}.{key}: {before[section][key]} -> {value}"
        for section, keys in now.items()
        for key, value in keys.items()
        if f"{section}.{key}" not in PLACES and before.get(section, {}).get(key, value) != value
    ]


def _claim_arm(recipe: Recipe, planned: Plan, sets: Sequence[Dataset]) -> None:
    """Store what an arm is made with in its folder, and discard its results if they are of another evaluation.

    Raises InputError if the folder has an arm that was trained with another recipe.
    """
    out, file = recipe.run.out, recipe.run.out / MADE_WITH
    evaluation = {
        "evaluate": [str(dataset.folder) for dataset in sets],
        "max_tokens": planned.max_tokens,
        "stored": planned.stored,
    }
    remedy = f"Delete {out} to train the arm again, or name another --work."
    is_trained = (out / "checkpoint").exists() or has_begun(recipe.run)
    if not file.exists():
        if is_trained or (out / MEASURED).exists():
            raise InputError(f"{out} has an arm, but no {MADE_WITH}, which tells what it was made with.", remedy)
        claim_folder(out)
    else:
        try:
            before = json.loads(file.read_text(encoding="utf-8"))
            changed = changes(before, to_plain(recipe))
            is_measured = before.get("plan") == evaluation
        except (OSError, ValueError, AttributeError) as error:
            raise InputError(f"{file} cannot be read ({error!r:.100}).", remedy) from None
        if changed and is_trained:
            raise InputError(f"{out} has an arm that was made with other settings ({'; '.join(changed)}).", remedy)
        if changed or not is_measured:
            (out / MEASURED).unlink(missing_ok=True)
    replace_text(file, json.dumps({**to_plain(recipe), "plan": evaluation}, indent=1) + "\n")


def _train_and_measure(name: str, recipe: Recipe, planned: Plan, sets: Sequence[Dataset]) -> Arm:
    """Train and evaluate an arm, unless the results of an earlier call are on disk."""
    from cdesearch.progress import shown_on_stderr
    from trainer.rounds import train_in_rounds

    out = recipe.run.out
    if not (out / "checkpoint").is_dir():
        with shown_on_stderr() as display:
            display.note(name)
            train_in_rounds(recipe, display, resume=has_begun(recipe.run))
    measured = out / MEASURED
    if not measured.exists():
        encoder = load_encoder(out / "checkpoint").truncated_to(planned.max_tokens)
        replace_text(measured, json.dumps(_measured(encoder, sets, recipe, planned.stored)))
    table = json.loads(measured.read_text(encoding="utf-8"))
    log = read_log(out)
    return Arm(
        name,
        recipe.run.seed,
        to_plain(recipe),
        table,
        [line["held_out"] for line in log if "held_out" in line],
        round(log[-1]["seconds"] / 60, 1),
    )


def _measured(
    encoder: Encoder, sets: Sequence[Dataset], recipe: Recipe, forms: Sequence[str]
) -> dict[str, dict[str, float]]:
    """nDCG@10 x 100 of each set by kind of context, then by form of the vectors in document context.

    The `random` context is that of the next set.
    """
    table, seed = {}, recipe.run.seed
    with TemporaryDirectory() as name:
        for position, dataset in enumerate(sets):
            other = sets[(position + 1) % len(sets)]
            systems: dict[str, System] = {kind: Contextual(encoder, Path(name), kind, other, seed) for kind in CONTEXTS}
            in_document = Contextual(encoder, Path(name), "document", seed=seed)
            systems["fused"] = Fused(in_document)
            systems |= {form: Stored(in_document, form, recipe.objective.quantise_scale) for form in forms}
            runs = {kind: system.retrieve(dataset) for kind, system in systems.items()}
            values = {kind: measure_run(dataset.judgements, run)["nDCG@10"].mean() for kind, run in runs.items()}
            table[dataset.name] = {kind: round(float(value), 3) for kind, value in values.items()}
    return table


def _show(arms: list[Arm]) -> None:
    """Print the means of each arm over its seeds, with intervals if it has several."""
    by_name: dict[str, list[Arm]] = {}
    for arm in arms:
        by_name.setdefault(arm.name, []).append(arm)
    forms = [kind for kind in next(iter(arms[0].ndcg.values())) if kind not in KINDS]
    contexts = ("true context", "random", "none", "and document", "and BM25")
    table = Table("arm", *contexts, *forms, "minutes", title="mean nDCG@10 x 100")
    for name, runs in by_name.items():
        cells = [mean_and_interval([run.mean(kind) for run in runs]) for kind in (*KINDS, *forms)]
        table.add_row(name, *cells, f"{sum(run.minutes for run in runs):g}")
    show(table)


def mean_and_interval(values: Sequence[float]) -> str:
    """The mean, and half the width of its 95% confidence interval over seeds by Student's t distribution."""
    mean = sum(values) / len(values)
    if len(values) == 1:
        return f"{mean:.2f}"
    return f"{mean:.2f} ±{stats.t.ppf(0.975, len(values) - 1) * stats.sem(values):.2f}"
