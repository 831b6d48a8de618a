"""How long a step takes on this machine, from which the number of steps follows."""

import time
from collections.abc import Callable, Sequence
from statistics import median

import torch

from cdesearch.encode.load import load_tokenizer
from trainer.data.pairs.reading import Pair
from trainer.data.training_batch import Batch, tokenize
from trainer.execution.distributed import world
from trainer.recipe import Recipe
from trainer.starting import starting_head, starting_model
from trainer.step.optimizer_steps import OptimizerSteps, Trainee

FIRST = 1  # steps that are not timed, because memory is reserved in them
TIMED = 3  # steps whose median counts, because other programs may delay one
LONG = 10.0  # seconds, after which no other step is timed


def device_here() -> torch.device:
    """The device on which training runs."""
    assert world() == 1
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def training_pace(recipe: Recipe, pairs: Sequence[Pair]) -> float:
    """The seconds of a step of training."""
    start, size = recipe.model.start, recipe.batches.size
    device = device_here()
    model = starting_model(recipe.model).to(device)
    tokenizer = load_tokenizer(start / "tokenizer.json")
    steps = OptimizerSteps(recipe, Trainee(model, starting_head(recipe.model, model.config).to(device), tokenizer))
    # Other pairs' documents stand for the negatives.
    some = pairs[:: max(1, len(pairs) // (2 * size))][: 2 * size]
    batch = Batch(
        queries=tokenize(tokenizer, [pair.query for pair in some[:size]], "", recipe.batches.max_tokens),
        documents=tokenize(tokenizer, [pair.document for pair in some], "", recipe.batches.max_tokens),
        context=torch.arange(size),
        is_null=torch.zeros(size, dtype=torch.bool),
        excluded=torch.zeros(size, len(some), dtype=torch.bool),
    )
    return _seconds_each(lambda step: steps.take(batch, step, FIRST + TIMED))


def _seconds_each(take: Callable[[int], object]) -> float:
    for step in range(FIRST):
        take(step)
    _wait()
    seconds: list[float] = []
    for step in range(FIRST, FIRST + TIMED):
        if sum(seconds) < LONG:
            started = time.monotonic()
            take(step)
            _wait()
            seconds.append(time.monotonic() - started)
    return median(seconds)


def _wait() -> None:
    """Let a GPU finish what it was given."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
