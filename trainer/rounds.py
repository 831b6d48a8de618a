"""Training in rounds, each with hard negatives that the model of the round before has found.

    round 1   negatives by BM25, or by the start  ->  training from the start  ->  OUT/round-1/checkpoint
    round 2   the same negatives, and those that the checkpoint of round 1 ranks high  ->  training from the start again

The last round writes to OUT itself. Every round begins with the start, not with the model of the round before
(coCondenser: Gao & Callan, 2022, and its published recipe).
"""

from pathlib import Path

from msgspec.structs import replace

from cdesearch.progress import Display
from trainer.data.pairs.domains import prepare
from trainer.data.pairs.reading import domain_files
from trainer.execution.distributed import first_goes_ahead, is_first, joined
from trainer.mine import Mining, mine, read_domains
from trainer.missing import check_named
from trainer.recipe import Recipe
from trainer.replacing import UNFINISHED, remove, writing
from trainer.run.folder import claim_folder, locked, refuse_earlier_run, refuse_overwritten_models
from trainer.run.state import STATE, check_recipe
from trainer.run.stop import terminable
from trainer.train import MAY_CHANGE, train

MINED = 7  # hard negatives that each round finds for a pair, of which batches.hard_negatives are used


def train_in_rounds(recipe: Recipe, display: Display, *, resume: bool = False) -> Path:
    """Run a recipe, in rounds if it has `mining.rounds`; returns the checkpoint folder, and raises what `train` does.

    With `resume`, rounds and negatives that are complete are not made again.
    """
    if not recipe.mining.rounds:
        return train(recipe, display, resume=resume)
    refuse_overwritten_models(recipe)
    check_named(recipe)
    out = recipe.run.out
    with terminable(), joined() as device:
        with first_goes_ahead(device):
            if is_first():
                claim_folder(out)
                if not resume:
                    for folder in (out, out / "round-1"):
                        refuse_earlier_run(folder)
        for number in range(1, recipe.mining.rounds + 1):
            of_round = _recipe_of_round(recipe, number)
            folder = of_round.run.out / "checkpoint"
            if number < recipe.mining.rounds and folder.is_dir():
                check_recipe(of_round.run.out, of_round, MAY_CHANGE)
                continue
            if is_first():
                display.note(f"Round {number} of {recipe.mining.rounds}")
            with first_goes_ahead(device):
                if is_first() and not (out / f"mined-{number}").is_dir():
                    _mine(recipe, number, display)
            folder = train(of_round, display, resume=resume and (of_round.run.out / STATE).exists())
    return folder


def _recipe_of_round(recipe: Recipe, number: int) -> Recipe:
    """The recipe with the mined pairs, from which leaks and superfluous pairs are already left out."""
    out = recipe.run.out
    data = replace(recipe.data, pairs=[out / f"mined-{number}"], keep_out=[], groups={}, cap=None)
    of_round = out if number == recipe.mining.rounds else out / f"round-{number}"
    return replace(recipe, data=data, run=replace(recipe.run, out=of_round, work=recipe.run.data_folder))


def _mine(recipe: Recipe, number: int, display: Display) -> None:
    """Write the pairs of a round with hard negatives."""
    out, settings = recipe.run.out, recipe.mining
    model = recipe.model.start if settings.first == "start" else None
    if number > 1:
        model = out / f"round-{number - 1}" / "checkpoint"
    mining = Mining(
        model=model,
        depth=settings.depth,
        count=max(MINED, recipe.batches.hard_negatives),
        max_tokens=recipe.batches.max_tokens,
        seed=recipe.run.seed,
    )
    target = out / f"mined-{number}"
    unfinished = target.with_name(target.name + UNFINISHED)
    for file in unfinished.glob("*.gz"):  # of a command that was killed after it had mined
        remove(file)
    with locked(recipe.run.data_folder, "run.work"):
        if number > 1:
            files = domain_files([out / f"mined-{number - 1}"])
            domains = list(read_domains(files))
        else:
            files = domain_files(recipe.data.pairs)
            whole = prepare(files, recipe.run.data_folder, recipe.data.keep_out, recipe.data.groups)
            drawn = [domain.at_most(recipe.data.cap, recipe.run.seed) for domain in whole]
            domains = [(domain.name, domain.take(range(len(domain)))) for domain in drawn if len(domain)]
        mine(domains, files, unfinished, mining, display)
    with writing(target):
        unfinished.replace(target)
