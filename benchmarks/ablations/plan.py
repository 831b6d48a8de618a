"""The plan of an ablation: one recipe, the arms that change it, and how they are evaluated."""

import re
import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from msgspec import field

from cdesearch.errors import InputError
from trainer.recipe import Recipe, check_recipe
from trainer.recipe_file import Count, Section, parse_recipe
from trainer.run.folder import check_named

COMPLETE = "See benchmarks/ablations for complete plans."
DATA = "data"  # beside the arms: the folder of their prepared data


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


def planned_arms(file: Path, plan: Plan, data: Path, start: Path, folder: Path) -> list[tuple[str, Recipe]]:
    """The name and the checked recipe of each arm, in the order of `arms_of`.

    Raises InputError if a recipe is wrong, names something that does not exist, or has the folder of another arm.
    """
    arms: list[tuple[str, Recipe]] = []
    taken = {folder: "the whole plan", folder / DATA: "the prepared data"}
    for name, values in arms_of(plan, data, start, folder):
        recipe = check_recipe(values, file)
        named = f"the arm {name} with seed {recipe.run.seed}"
        if other := taken.get(recipe.run.out):
            raise InputError(
                f"{file}: {named} has the folder of {other}, {recipe.run.out}.", "Rename the arm, or correct `seeds`."
            )
        taken[recipe.run.out] = named
        check_named(recipe)
        arms.append((name, recipe))
    return arms


def arms_of(plan: Plan, data: Path, start: Path, folder: Path) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    """The name of each arm and the keys of its recipe: all arms with the first seed, then with the next one."""
    for seed, (name, changes) in product(plan.seeds, plan.arms.items()):
        values = {section: dict(keys) for section, keys in plan.recipe.items()}
        for key in ("pairs", "keep_out"):
            if isinstance(paths := values.get("data", {}).get(key), list):
                values["data"][key] = [data / path if isinstance(path, str) else path for path in paths]
        values.setdefault("model", {})["start"] = start
        run = re.sub(r"\W+", "-", name) + (f"-seed-{seed}" if seed else "")
        values.setdefault("run", {}).update({"out": folder / run, "work": folder / DATA, "seed": seed})
        for name_of_key, value in changes.items():
            section, _, key = name_of_key.partition(".")
            values.setdefault(section, {})[key] = value
        yield name, values
