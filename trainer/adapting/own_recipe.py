"""The recipe by which the model of an index is trained on its own pairs."""

from pathlib import Path

from cdesearch.models.contextual.model import ContextualModel
from trainer.data.pairs.reading import Pair
from trainer.recipe import Batches, Data, Learning, ModelChoice, Recipe, RunSettings

MAX_TOKENS = 128
PAIRS = 32  # of a step
FIXED_RATE = 1e-7  # of the numbers of the whitening, which were learned from many corpora


def training_recipe(start: Path, pairs: Path, out: Path, n_steps: int, model: ContextualModel) -> Recipe:
    """Training on pairs with one mined negative each."""
    return Recipe(
        data=Data(pairs=[pairs], held_out=0.0),
        model=ModelChoice(
            start=start,
            gated_attention=not model.second_stage.gates_are_zero,
            context_attention=model.config.context_attention,
            first_stage=model.config.first_stage,
        ),
        batches=Batches(
            size=PAIRS,
            context_size=PAIRS,
            max_tokens=MAX_TOKENS,
            hard_negatives=1,
            clustered=False,
            filter="text",
        ),
        learning=Learning(steps=n_steps, rate=2e-5, head_rate=FIXED_RATE, warmup=max(1, n_steps // 10), micro_batch=16),
        run=RunSettings(out=out, checkpoint_minutes=1.0, small_state=True),
    )


def enough_pairs(pairs: list[Pair]) -> bool:
    """Whether there are pairs for two steps of training."""
    return len(pairs) >= 2 * PAIRS
