"""What a user is told about the result."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from cdesearch.terminal import counted
from trainer.adapting.adapt import Adapted
from trainer.adapting.share import CONFIDENCE


def told(adapted: Adapted) -> Iterator[str]:
    """Lines on what was measured and chosen."""
    chosen = adapted.chosen
    yield (
        f"On {counted(adapted.n_questions, 'sentence')} of held-out documents, MRR@10 by vectors is"
        f" {chosen.before:.1f} with the model of the index, and {chosen.after:.1f} with {chosen.best:.0%} of the"
        " adapted model."
    )
    if adapted.model is None:
        yield (
            f"Nothing gained: a gain above 0 is not proven with {CONFIDENCE:.0%} confidence (its lower bound is"
            f" {chosen.bound:+.1f}), so no model is written."
        )
    else:
        yield f"With {CONFIDENCE:.0%} confidence, the gain on such sentences is at least {chosen.bound:+.1f}."


def next_command(index: Path, model: Path) -> str:
    """The command that indexes with the adapted model."""
    return f"Next: {shlex.join(['cdesearch', 'index', '--rebuild', '--model', str(model), '--index', str(index)])}"
