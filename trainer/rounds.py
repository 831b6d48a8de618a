"""Training in rounds, each with hard negatives that the model of the round before has found.

    round 1   negatives by BM25, or by the start  ->  training from the start  ->  OUT/round-1/checkpoint
    round 2   the same negatives, and those that the checkpoint of round 1 ranks high  ->  training from the start again

The last round writes to OUT itself. Every round begins with the start, not with the model of the round before
(coCondenser: Gao & Callan, 2022, and its published recipe).
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from cdesearch.errors import InputError, StorageError
from cdesearch.progress import Display
from trainer.data.pairs.domains import prepare
from trainer.data.pairs.reading import domain_files
from trainer.execution.distributed import first_goes_ahead, is_first, joined
from trainer.mine import Mining, PairsOf, mine, read_domains
from trainer.missing import check_named
from trainer.recipe import Recipe, recipe_to_json
from trainer.replacing import UNFINISHED, remove, replace_text, writing
from trainer.run.checkpoint import MAY_CHANGE, STATE, check_stored_recipe
from trainer.run.folder import (
    ROUNDS,
    check_resumable,
    claim_folder,
    claimed_data_folder,
    has_begun,
    mined_folder,
    refuse_earlier_run,
    refuse_overwritten_models,
    round_folder,
)
from trainer.run.sources import check_joined
from trainer.run.stop import terminable
from trainer.run.time_limit import NO_LIMIT, LimitedDisplay, OutOfTime, TimeLimit
from trainer.train import train

MAY_CHANGE_BETWEEN_ROUNDS = tuple(key for key in MAY_CHANGE if key.startswith("run."))


def train_in_rounds(recipe: Recipe, display: Display, *, resume: bool = False, limit: TimeLimit = NO_LIMIT) -> Path:
    """Run a recipe, in rounds if it has `mining.rounds`; returns the checkpoint folder, and raises what `train` does.

    With `resume`, rounds and negatives that are complete are not made again. Without it, InputError is raised if the
    folder of the run holds an earlier one.
    """
    if not recipe.mining.rounds:
        return train(recipe, display, resume=resume, limit=limit)
    refuse_overwritten_models(recipe)
    check_joined(recipe)
    check_named(recipe)
    if not resume:
        _refuse_earlier_rounds(recipe)
    else:
        if not has_begun(recipe.run):
            check_resumable(recipe.run.out)
        _check_rounds(recipe)
    with terminable(), joined() as device:
        with first_goes_ahead(device):
            if is_first() and not mined_folder(recipe.run.out, 1).is_dir():  # a run that has begun keeps its recipe
                claim_folder(recipe.run.out, resume=True)
                replace_text(recipe.run.out / ROUNDS, recipe_to_json(recipe))
        for number in range(1, recipe.mining.rounds + 1):
            of_round = _recipe_of_round(recipe, number)
            out = of_round.run.out
            if number < recipe.mining.rounds and (out / "checkpoint").is_dir():
                continue
            if is_first():
                display.note(f"Round {number} of {recipe.mining.rounds}")
            with first_goes_ahead(device, OutOfTime):
                if is_first() and not mined_folder(recipe.run.out, number).is_dir():
                    _mine(recipe, number, LimitedDisplay(display, limit))
            folder = train(of_round, display, resume=resume and (out / STATE).exists(), limit=limit)
    return folder


def _refuse_earlier_rounds(recipe: Recipe) -> None:
    refuse_earlier_run(recipe.run)
    for folder in (mined_folder(recipe.run.out, 1), round_folder(recipe.run.out, 1)):
        if is_first() and folder.exists():
            raise InputError(
                f"{recipe.run.out} holds an earlier run, which would be lost.",
                "Add --resume to continue it, set another run.out, or remove the folder.",
            )


def _check_rounds(recipe: Recipe) -> None:
    """Raise InputError if rounds that have begun had another recipe, and StorageError if it cannot be read."""
    file = recipe.run.out / ROUNDS
    if not file.is_file():  # runs of older versions did not store it
        return
    try:
        stored = file.read_text(encoding="utf-8")
        json.loads(stored)
    except (OSError, ValueError, RecursionError) as error:
        raise StorageError(f"{file} is damaged ({error}).", "Copy it again, or set another run.out.") from None
    check_stored_recipe(file, recipe, stored, MAY_CHANGE_BETWEEN_ROUNDS)


def _recipe_of_round(recipe: Recipe, number: int) -> Recipe:
    """The recipe with the mined pairs, from which leaks and superfluous pairs are already left out."""
    pairs = [mined_folder(recipe.run.out, number)]
    data = replace(recipe.data, pairs=pairs, leave_out=[], keep_out=[], groups={}, cap=None)
    out = recipe.run.out if number == recipe.mining.rounds else round_folder(recipe.run.out, number)
    return replace(recipe, data=data, run=replace(recipe.run, out=out, work=recipe.run.data_folder))


def _mine(recipe: Recipe, number: int, display: Display) -> None:
    """Write the pairs of a round with hard negatives."""
    model = recipe.model.start if recipe.mining.first == "start" else None
    if number > 1:
        model = round_folder(recipe.run.out, number - 1) / "checkpoint"
    settings = recipe.mining
    mining = Mining(
        model=model,
        depth=settings.depth,
        count=settings.count,
        margin=settings.margin,
        max_tokens=recipe.batches.max_tokens,
        seed=recipe.run.seed,
    )
    target = mined_folder(recipe.run.out, number)
    unfinished = target.with_name(target.name + UNFINISHED)
    for file in unfinished.glob("*.gz"):  # of a command that was killed after it had mined
        remove(file)
    with claimed_data_folder(recipe.run) as work:
        files, domains = _pairs_of_round(recipe, number, work)
        mine(domains, files, unfinished, mining, display)
    with writing(target):
        unfinished.replace(target)


def _pairs_of_round(recipe: Recipe, number: int, work: Path) -> tuple[list[Path], Iterable[PairsOf]]:
    """The pair files that a round begins with, and their domains: those of the recipe, or of the round before."""
    if number > 1:
        files = domain_files([mined_folder(recipe.run.out, number - 1)])
        return files, read_domains(files)
    files = domain_files(recipe.data.pairs, recipe.data.leave_out)
    whole = prepare(files, work, recipe.data.keep_out, recipe.data.groups)
    drawn = (domain.at_most(recipe.data.cap, recipe.run.seed) for domain in whole)
    return files, ((domain.name, domain.take(range(len(domain)))) for domain in drawn if len(domain))
