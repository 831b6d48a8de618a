"""The command that trains several arms of one recipe and evaluates all of them in the same way."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.table import Table
from scipy import stats

from benchmarks.datasets.dataset import Dataset, read_dataset
from benchmarks.machine import describe
from benchmarks.measurement import RESULTS, show
from benchmarks.quality.measures import measure_run
from benchmarks.systems.contextual import Contextual
from benchmarks.systems.fused import Fused
from benchmarks.systems.stored import Stored, check_form
from benchmarks.systems.system import System
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError
from trainer.recipe import Recipe, check_recipe
from trainer.replacing import make_folder, replace_text
from trainer.run.folder import claim_folder, has_begun
from trainer.run.log import read_log
from trainer.schema import to_plain

CONTEXTS = ("true", "random", "null", "document")
KINDS = (*CONTEXTS, "fused")
MADE_WITH = "arm.json"  # beside a trained arm: its recipe, and how it is evaluated
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
    make_folder(out)
    folder = work / plan.stem
    machine = describe()
    known = known_arms(planned, sorted(out.glob(f"{plan.stem}-*.json")))
    arms = []
    for name, values in arms_of(planned, data, start, folder):
        recipe = check_recipe(values, plan)
        earlier = known.get((name, recipe.run.seed))
        if earlier and (changed := changes(earlier.recipe, to_plain(recipe))):
            raise InputError(
                f"{out} has results of the arm {name} with another recipe ({'; '.join(changed)}).",
                f"Move {plan.stem}-*.json away from there, or name another --out.",
            )
        arms.append(earlier or _train_and_measure(name, recipe, planned, data))
        record = {"machine": machine, "plan": planned, "arms": [asdict(arm) for arm in arms]}
        file = out / f"{plan.stem}-{machine['date']}.json"
        file.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        _show(arms)


def read_plan(plan: Path) -> dict[str, Any]:
    """The tables of a plan; raises InputError if it is not TOML or lacks one of its parts."""
    try:
        planned = tomllib.loads(plan.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{plan} is not a plan ({error}).", "See benchmarks/ablations for some plans.") from None
    if missing := {"evaluate", "max_tokens", "recipe", "arms"} - planned.keys():
        raise InputError(f"{plan} has no {', '.join(sorted(missing))}.", "See benchmarks/ablations for complete plans.")
    for form in planned.get("stored", []):
        check_form(form)
    return planned


def known_arms(planned: dict[str, Any], results: Sequence[Path]) -> dict[tuple[str, int], Arm]:
    """The arms of earlier results by name and seed, from another machine too, if their plan differs only in seeds.

    Raises InputError for a file that is not a result.
    """
    found: dict[tuple[str, int], Arm] = {}
    for file in results:
        try:
            record = json.loads(file.read_text(encoding="utf-8"))
            earlier = [Arm(**arm) for arm in record["arms"]]
            is_same = {**record["plan"], "seeds": None} == {**planned, "seeds": None}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{file} is not a result of an ablation ({error!r:.100}).", "Move it away.") from None
        found |= {(arm.name, arm.seed): arm for arm in earlier if is_same}
    return found


def arms_of(
    planned: dict[str, Any], data: Path, start: Path, folder: Path
) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    """The name of each arm and the keys of its recipe: all arms with the first seed, then with the next one."""
    for seed, (name, changes) in product(planned.get("seeds", [0]), planned["arms"].items()):
        values = {section: dict(keys) for section, keys in planned["recipe"].items()}
        for key in ("pairs", "keep_out"):
            values["data"][key] = [data / path for path in values["data"].get(key, [])]
        values.setdefault("model", {})["start"] = start
        run = re.sub(r"\W+", "-", name) + (f"-seed-{seed}" if seed else "")
        values.setdefault("run", {}).update({"out": folder / run, "work": folder / "data", "seed": seed})
        for name_of_key, value in changes.items():
            section, _, key = name_of_key.partition(".")
            values.setdefault(section, {})[key] = value
        yield name, values


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


def _claim_arm(recipe: Recipe, planned: dict[str, Any], data: Path) -> None:
    """Store what an arm is made with in its folder; raises InputError if the folder has an arm made with another."""
    out, file = recipe.run.out, recipe.run.out / MADE_WITH
    made_with = {
        **to_plain(recipe),
        "plan": {"evaluate": [str(data / path) for path in planned["evaluate"]], "max_tokens": planned["max_tokens"]},
    }
    remedy = f"Delete {out} to train the arm again, or name another --work."
    if file.exists():
        try:
            changed = changes(json.loads(file.read_text(encoding="utf-8")), made_with)
        except (OSError, ValueError, AttributeError) as error:
            raise InputError(f"{file} cannot be read ({error!r:.100}).", remedy) from None
        if changed:
            raise InputError(f"{out} has an arm that was made with other settings ({'; '.join(changed)}).", remedy)
    elif any((out / name).exists() for name in ("checkpoint", "state.pt", "ndcg.json")):
        raise InputError(f"{out} has an arm, but no {MADE_WITH}, which tells what it was made with.", remedy)
    else:
        claim_folder(out)
        replace_text(file, json.dumps(made_with, indent=1) + "\n")


def _train_and_measure(name: str, recipe: Recipe, planned: dict[str, Any], data: Path) -> Arm:
    """Train and evaluate an arm, unless the results of an earlier call are on disk."""
    from cdesearch.progress import shown_on_stderr
    from trainer.rounds import train_in_rounds

    _claim_arm(recipe, planned, data)
    out = recipe.run.out
    if not (out / "checkpoint").is_dir():
        with shown_on_stderr() as display:
            display.note(name)
            train_in_rounds(recipe, display, resume=has_begun(recipe.run))
    measured = out / "ndcg.json"
    if not measured.exists():
        sets = [read_dataset(data / path) for path in planned["evaluate"]]
        encoder = load_encoder(out / "checkpoint").truncated_to(planned["max_tokens"])
        table = _measured(encoder, sets, recipe, planned.get("stored", []))
        measured.write_text(json.dumps(table), encoding="utf-8")
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
    encoder: Encoder, sets: list[Dataset], recipe: Recipe, forms: Sequence[str]
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
