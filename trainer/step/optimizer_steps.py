"""The steps of a run: the gradient of a batch, clipped by group, and the optimizer with its learning rates."""

from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from torch import nn

from cdesearch.models.contextual.model import ContextualModel
from trainer.data.training_batch import Batch
from trainer.loss.batch_loss import BatchLoss
from trainer.loss.long_documents import document_share
from trainer.loss.token_weights import TokenWeights
from trainer.loss.whitening_head import WhiteningHead
from trainer.recipe import Recipe
from trainer.step.gradcache import GradCache, LossFn
from trainer.step.parameter_groups import clip_by_group, make_optimizer, parameter_groups
from trainer.step.schedule import rate_factor
from trainer.step.step_figures import StepFigures


@dataclass(frozen=True, slots=True)
class Trainee:
    """What is trained: the model and its whitening head, on one device, and the tokenizer of its texts."""

    model: ContextualModel
    head: WhiteningHead
    tokenizer: Tokenizer

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next(self.model.parameters()).device

    @property
    def modules(self) -> dict[str, nn.Module]:
        """The modules whose parameters are trained and stored, by name."""
        return {"model": self.model, "head": self.head}


class OptimizerSteps:
    """Takes the steps of a recipe. Held-out losses use `loss` and `weights` too; the state includes `optimizer`."""

    def __init__(self, recipe: Recipe, trainee: Trainee) -> None:
        model, head, learning = trainee.model, trainee.head, recipe.learning
        self._head = head
        self._learning = learning
        self._groups = parameter_groups(model, head)
        self.optimizer = make_optimizer(self._groups, learning)
        special = sorted(trainee.tokenizer.get_added_tokens_decoder())
        self.weights = TokenWeights(model.config.backbone.vocabulary, special, trainee.device)
        weights = learning.temperature, learning.teacher_weight
        self.loss = BatchLoss(head, model.config.document_weight, *weights, recipe.objective)
        self._cache = GradCache(
            model,
            head,
            learning.micro_batch,
            freeze_first_stage=recipe.model.freeze_first_stage,
            precision=torch.bfloat16 if learning.precision == "bf16" else torch.float32,
            kept_graphs=learning.kept_graphs,
            own_batches=recipe.batches.processes == "own",
        )

    def take(self, batch: Batch, step: int, n_steps: int) -> StepFigures:
        """Take the step with the number `step`, from 0, of `n_steps`; a GPU may still be computing the figures."""
        self._set_rates(step, n_steps)
        self.optimizer.zero_grad(set_to_none=True)
        output = self._cache.step(batch, self.weights.of(batch, self._head), self._loss_fn(batch, step, n_steps))
        self._cache.sum_gradients()
        norms = clip_by_group(self._groups, self._learning.clip)
        self.optimizer.step()
        return StepFigures(step + 1, len(batch.queries), output, norms)

    def _loss_fn(self, batch: Batch, step: int, n_steps: int) -> LossFn:
        share = document_share(self.loss.objective, step, n_steps)
        return lambda queries, documents, context: self.loss.of(
            batch, queries, documents, context if batch.is_contextual else None, share
        )

    def _set_rates(self, step: int, n_steps: int) -> None:
        factor = rate_factor(self._learning, step, n_steps)
        for group in self.optimizer.param_groups:
            group["lr"] = group["peak"] * factor
