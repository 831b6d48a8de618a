"""The command that trains the arms of a plan, which change one recipe, and evaluates all of them in the same way."""

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from msgspec import field
from rich.table import Table
from scipy import stats

from benchmarks.datasets.dataset import Dataset, read_dataset
from benchmarks.measurement import RESULTS, describe, make_results_folder, show
from benchmarks.measures import measure_run
from benchmarks.systems.dense import Contextual
from benchmarks.systems.system import BenchmarkSystem
from benchmarks.systems.text import Fused
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError
from trainer.data.store import digest_of
from trainer.recipe import Count, Recipe, Section, check_recipe, parse_recipe, to_plain
from trainer.replacing import replace_text
from trainer.run.folder import check_named, read_log
from trainer.run.state import STATE

COMPLETE = "See benchmarks/ablations for complete plans."
DATA = "data"  # beside the arms: the folder of their prepared data
CONTEXTS = ("true", "random", "null", "document")


class Plan(Section, frozen=True, kw_only=True):
    """All settings of an ablation."""

    evaluate: list[Path]  # BEIR folders
    max_tokens: Count  # of a text in evaluation
    seeds: list[int] = field(default_factory=lambda: [0])
    recipe: dict[str, dict[str, Any]]  # sections and keys that all arms share
    arms: dict[str, dict[str, Any]]  # from a name to `section.key` and value


def read_plan(file: Path) -> Plan:
    """Read and check a plan; raises an InputError that names the file and the key."""
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # ValueError: also for bad UTF-8
        raise InputError(f"{file} is not a plan ({error}).", COMPLETE) from None
    plan = parse_recipe(Plan, values, file, COMPLETE)
    for key in ("evaluate", "seeds", "arms"):
        if not getattr(plan, key):
            raise InputError(f"{file}: {key} is empty.", COMPLETE)
    names = [folder.name for folder in plan.evaluate]
    if len({*names}) < len(names):
        raise InputError(f"{file}: two folders of evaluate have the same name.", "Rename one of them.")
    return plan


def arms_of(plan: Plan, data: Path, start: Path, folder: Path) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    """The name of each arm and the keys of its recipe: all arms with the first seed, then with the next one.

    The name of its folder has a digest of the recipe, so that another recipe never continues its run.
    """
    for seed, (name, changes) in product(plan.seeds, plan.arms.items()):
        values = {section: dict(keys) for section, keys in plan.recipe.items()}
        for key in ("pairs", "keep_out"):
            if isinstance(paths := values.get("data", {}).get(key), list):
                values["data"][key] = [data / path if isinstance(path, str) else path for path in paths]
        values.setdefault("model", {})["start"] = start
        values.setdefault("run", {})["seed"] = seed
        for name_of_key, value in changes.items():
            section, _, key = name_of_key.partition(".")
            values.setdefault(section, {})[key] = value
        run = re.sub(r"\W+", "-", name) + "-" + digest_of(json.dumps(values, default=str))
        values["run"] |= {"out": folder / run, "work": folder / DATA}
        yield name, values


@dataclass(frozen=True, slots=True)
class Arm:
    """A recipe, and the results of the model that it trained."""

    name: str
    seed: int
    recipe: dict[str, Any]
    # nDCG@10 x 100 by set and kind of context; "fused" is document fused with BM25.
    ndcg: dict[str, dict[str, float]]
    held_out: list[dict[str, float]]  # losses by kind of context, before and after training
    minutes: float

    def mean(self, kind: str) -> float:
        return sum(row[kind] for row in self.ndcg.values()) / len(self.ndcg)


def ablation(
    plan: Annotated[Path, typer.Argument(help="TOML file; see benchmarks/ablations.")],
    data: Annotated[Path, typer.Argument(help="Folder that the paths of the plan are relative to.")],
    start: Annotated[Path, typer.Argument(help="Model that every arm starts from.")],
    work: Annotated[Path, typer.Option(help="Folder for the runs; with the same folder again, they continue.")] = Path(
        "runs/ablation"
    ),
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Train every arm of a plan, with each seed that it names, and evaluate it with each kind of context and BM25."""
    if not start.is_dir():
        raise InputError(f"START is {start}, and there is no such folder.", "Name the folder of a model.")
    planned = read_plan(plan)
    make_results_folder(out)
    machine = describe()
    arms_to_train = arms_of(planned, data, start, work / plan.stem)
    recipes = [(name, check_recipe(values, plan)) for name, values in arms_to_train]
    for _, recipe in recipes:
        check_named(recipe)
    sets = [read_dataset(data / folder) for folder in planned.evaluate]
    file = out / f"{plan.stem}-{machine['date']}.json"
    arms = []
    for name, recipe in recipes:
        arms.append(_train_and_measure(name, recipe, planned, sets))
        record = {"machine": machine, "plan": to_plain(planned), "arms": [asdict(arm) for arm in arms]}
        replace_text(file, json.dumps(record, indent=2) + "\n")
        _show(arms)


def _train_and_measure(name: str, recipe: Recipe, planned: Plan, sets: Sequence[Dataset]) -> Arm:
    """Train and evaluate an arm, unless the results of an earlier call are on disk."""
    from cdesearch.progress import shown_on_stderr
    from trainer.train import train

    out = recipe.run.out
    if not (out / "checkpoint").is_dir():
        with shown_on_stderr() as display:
            display.note(name)
            train(recipe, display, resume=(out / STATE).exists())
    measured = out / f"ndcg-{digest_of(str(planned.max_tokens), (str(dataset.folder) for dataset in sets))}.json"
    if not measured.exists():
        encoder = load_encoder(out / "checkpoint").truncated_to(planned.max_tokens)
        replace_text(measured, json.dumps(_measured(encoder, sets, recipe.run.seed)))
    table = json.loads(measured.read_text(encoding="utf-8"))
    log = read_log(out)
    held_out = [line["held_out"] for line in log if "held_out" in line]
    return Arm(name, recipe.run.seed, to_plain(recipe), table, held_out, round(log[-1]["seconds"] / 60, 1))


def _measured(encoder: Encoder, sets: Sequence[Dataset], seed: int) -> dict[str, dict[str, float]]:
    """nDCG@10 x 100 of each set by kind of context. The `random` context is that of the next set."""
    table = {}
    with TemporaryDirectory() as name:
        for dataset, other in zip(sets, [*sets[1:], sets[0]], strict=True):
            systems: dict[str, BenchmarkSystem] = {
                kind: Contextual(encoder, Path(name), kind, other, seed) for kind in CONTEXTS
            }
            systems["fused"] = Fused(Contextual(encoder, Path(name), "document", seed=seed))
            runs = {kind: system.retrieve(dataset) for kind, system in systems.items()}
            values = {kind: measure_run(dataset.judgements, run)["nDCG@10"].mean() for kind, run in runs.items()}
            table[dataset.name] = {kind: round(float(value), 3) for kind, value in values.items()}
    return table


def _show(arms: list[Arm]) -> None:
    """Print the means of each arm over its seeds, with intervals if it has several."""
    by_name: dict[str, list[Arm]] = {}
    for arm in arms:
        by_name.setdefault(arm.name, []).append(arm)
    columns = ("true context", "random", "none", "and document", "and BM25")
    table = Table("arm", *columns, "minutes", title="mean nDCG@10 x 100")
    for name, runs in by_name.items():
        cells = [mean_and_interval([run.mean(kind) for run in runs]) for kind in (*CONTEXTS, "fused")]
        table.add_row(name, *cells, f"{sum(run.minutes for run in runs):g}")
    show(table)


def mean_and_interval(values: Sequence[float]) -> str:
    """The mean, and half the width of its 95% confidence interval over seeds by Student's t distribution."""
    mean = sum(values) / len(values)
    if len(values) == 1:
        return f"{mean:.2f}"
    return f"{mean:.2f} ±{stats.t.ppf(0.975, len(values) - 1) * stats.sem(values):.2f}"
