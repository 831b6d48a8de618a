"""The loop of a run of pretraining: its steps, its held-out losses and its log."""

import math
import time
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import nn

from cdesearch.errors import InputError, TrainingError
from cdesearch.progress import Display
from cdesearch.terminal import counted
from trainer.pretraining.learner import Learner
from trainer.pretraining.pretraining_state import begin, load, save
from trainer.pretraining.recipe import PretrainingRecipe
from trainer.run.checkpoint import after_last_state, first_not_finite
from trainer.run.log import Log
from trainer.run.stop import StopSignals
from trainer.step.parameter_groups import Groups, clip_by_group
from trainer.step.schedule import rate_factor


class PretrainingRun:
    """The state of one run."""

    def __init__(self, recipe: PretrainingRecipe, learner: Learner, display: Display, *, resume: bool) -> None:
        """With `resume`, continue from the state on disk; raises InputError if it does not fit the recipe."""
        self._recipe = recipe
        self._learner = learner
        self._display = display
        self._groups = learner.groups
        self._optimizer = _optimizer(self._groups, recipe)
        self._taken = load(recipe, learner, self._optimizer) if resume else begin(recipe)
        if self._taken.step > recipe.learning.steps:
            raise InputError(
                f"{recipe.run.out} has taken {counted(self._taken.step, 'step')}, and the recipe has"
                f" {recipe.learning.steps:,}.",
                "Raise learning.steps, or set another run.out.",
            )
        self._log = Log(recipe.run.out, anew=not self._taken.step)

    def go(self) -> None:
        """Take all remaining steps; the state is saved every few minutes, and on Ctrl-C and SIGTERM."""
        recipe, taken = self._recipe, self._taken
        advance = self._display.stage("Pretraining", recipe.learning.steps)
        advance(taken.step)
        saved = time.monotonic()
        with StopSignals(self._learner.device) as signals:
            try:
                while taken.step < recipe.learning.steps:
                    if taken.step % recipe.run.watch_every == 0:
                        self._watch()
                    with signals.deferred():
                        self._step()
                    advance(1)
                    if time.monotonic() - saved > 60 * recipe.run.checkpoint_minutes:
                        self._save()
                        saved = time.monotonic()
                self._watch()
            except KeyboardInterrupt:
                with signals.deferred():
                    self._save()
                raise
            self._save()

    def finish(self) -> Path:
        """Write the checkpoint, and return its folder."""
        folder = self._recipe.run.out / "checkpoint"
        self._display.note(f"Writing {folder}")
        with after_last_state():
            return self._learner.save(self._recipe.run.out)

    def _step(self) -> None:
        started, step = time.monotonic(), self._taken.step
        for group in self._optimizer.param_groups:
            group["lr"] = group["peak"] * self._rate_factor(group["name"], step)
        self._optimizer.zero_grad(set_to_none=True)
        added = self._learner.add_gradient(step)
        norms = clip_by_group(self._groups, self._recipe.learning.clip)
        figures = {name: float(figure) for name, figure in added.items()}
        if not math.isfinite(figures["loss"]):
            raise _diverged(f"The loss is {figures['loss']} at step {step}.")
        self._optimizer.step()
        self._taken.step += 1
        self._taken.seconds += time.monotonic() - started
        self._write_log({**figures, "norms": {name: float(norm) for name, norm in norms.items()}})
        self._display.detail(
            f"step {step + 1}  {shown(figures)}  {1 / max(1e-9, time.monotonic() - started):.2g} steps/s"
        )

    def _rate_factor(self, group: str, step: int) -> float:
        """The network learns nothing in the first steps, and then has its own warmup."""
        learning = self._recipe.learning
        waiting = learning.head_warmup if group == "network" and "head" in self._groups else 0
        return 0.0 if step < waiting else rate_factor(learning, step - waiting, max(1, learning.steps - waiting))

    def _watch(self) -> None:
        losses = self._learner.held_out()
        if losses:
            self._write_log({"held_out": dict(losses)})
            self._display.note(f"step {self._taken.step}: held-out loss {shown(losses)}")

    def _save(self) -> None:
        if broken := first_not_finite(self._learner.modules):
            raise _diverged(f"After step {self._taken.step}, {broken} has numbers that are not finite.")
        save(self._recipe, self._taken, self._learner, self._optimizer)

    def _write_log(self, figures: dict[str, object]) -> None:
        self._log.write(self._taken.step, self._taken.seconds, figures)


def shown(figures: Mapping[str, float]) -> str:
    """Figures with their names, for people."""
    return "  ".join(f"{name} {figure:.3f}" for name, figure in figures.items())


def _optimizer(groups: Groups, recipe: PretrainingRecipe) -> torch.optim.Optimizer:
    """AdamW; only matrices have weight decay."""
    learning = recipe.learning
    parts: dict[tuple[str, float], list[nn.Parameter]] = {}
    for name, parameters in groups.items():
        for parameter in parameters:
            parts.setdefault((name, learning.decay if parameter.ndim > 1 else 0.0), []).append(parameter)
    return torch.optim.AdamW(
        [
            {"params": parameters, "name": name, "peak": learning.rate, "lr": learning.rate, "weight_decay": decay}
            for (name, decay), parameters in parts.items()
        ],
        betas=(0.9, learning.beta2),
    )


def _diverged(cause: str) -> TrainingError:
    return TrainingError(cause, "Lower learning.rate, and set another run.out.")
