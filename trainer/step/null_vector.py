"""The null vector at the start of a run: a context that says nothing of the corpus."""

import torch

from cdesearch.models.contextual.model import ContextualModel
from trainer.data.training_batch import Tokens
from trainer.execution.distributed import is_first, total
from trainer.execution.evaluation_mode import evaluation_mode


@torch.no_grad()
def start_null_vector(model: ContextualModel, texts: Tokens, micro_batch: int) -> None:
    """Set the null vector to the mean first-stage vector of some texts, so that it is like the vectors around it.

    The first of several processes computes it for all.
    """
    null = model.second_stage.null
    null.zero_()
    if is_first():
        with evaluation_mode(model):
            for _, part in texts.micro_batches(slice(0, len(texts)), micro_batch):
                tokens = part.to(null.device)
                null.add_(model.first_stage(tokens.ids, tokens.mask).sum(0) / len(texts))
    total(null)
