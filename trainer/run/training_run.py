"""A run: its steps, its held-out losses, its state on disk and its checkpoints."""

import math
import shutil
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from cdesearch.encode.backends.torch import TorchRuntime
from cdesearch.encode.encoder import Encoder
from cdesearch.errors import InputError, TrainingError
from cdesearch.models.config import ModelConfig
from cdesearch.progress import Display
from cdesearch.terminal import counted
from trainer.data.material import Material
from trainer.data.training_batch import Batch
from trainer.execution.compiled import as_written
from trainer.execution.distributed import highest, is_first, rank, world
from trainer.execution.evaluation_mode import evaluation_mode
from trainer.export import export
from trainer.recipe import Recipe
from trainer.replacing import replace_folder
from trainer.run.checkpoint import (
    RunProgress,
    after_last_state,
    first_not_finite,
    load_best,
    load_state,
    save_best,
    save_state,
)
from trainer.run.evaluate import evaluate
from trainer.run.log import Log
from trainer.run.sources import sources_of
from trainer.run.stop import StopSignals
from trainer.run.time_limit import OutOfTime, TimeLimit
from trainer.run.watch import held_out_losses
from trainer.step.optimizer_steps import OptimizerSteps, Trainee
from trainer.step.random_state import random_state, replayed
from trainer.step.step_figures import StepFigures

FIGURES_EVERY = 10  # steps on a GPU between two readings of figures, for which the host waits for the device


class TrainingRun:
    """The state of one run: what is trained, its data, optimizer and log."""

    def __init__(self, recipe: Recipe, trainee: Trainee, material: Material, display: Display, *, resume: bool) -> None:
        """With `resume`, continue from the state on disk; raises InputError if it does not fit the recipe."""
        self._recipe = recipe
        self._trainee = trainee
        self._material = material
        self._display = display
        self._steps = OptimizerSteps(recipe, trainee)
        self._progress = RunProgress()
        self._sources = sources_of(recipe, material)
        if resume:
            self._progress = load_state(recipe.run.out, recipe, trainee.modules, self._steps.optimizer, self._sources)
        anew, project = not self._progress.step, recipe.run.trackio
        self._log = Log(recipe.run.out, anew=anew, project=project) if is_first() else None
        # (r, n): of every n batches this process takes number r.
        self._turn = (rank(), world()) if recipe.batches.processes == "own" else (0, 1)
        of_epoch, steps = material.stream.steps_per_epoch // self._turn[1], recipe.learning.steps
        self.n_steps = recipe.learning.epochs * of_epoch if steps is None else steps
        self._unread: list[StepFigures] = []
        self._started = time.monotonic()  # of the first step in _unread
        self._read_every = FIGURES_EVERY if trainee.device.type == "cuda" else 1
        self._watched = -1  # the step of the last held-out losses
        _check_length(recipe, self._progress, material, self.n_steps)

    def go(self, limit: TimeLimit) -> None:
        """Take all remaining steps; the state is saved every few minutes, on Ctrl-C and SIGTERM, and at the limit."""
        recipe, progress = self._recipe, self._progress
        if not progress.step:
            self.evaluate()
        advance = self._display.stage("Training", self.n_steps)
        advance(progress.step)
        saved = time.monotonic()
        upcoming = self._material.stream.upcoming(progress.step, self.n_steps, self._turn)
        with StopSignals(self._trainee.device) as signals, closing(upcoming) as batches:
            try:
                for batch in batches:
                    if progress.step % recipe.run.watch_every == 0:
                        self._watch()
                        if self._has_stopped_improving():
                            break
                    with signals.deferred():
                        self._step(batch)
                    advance(1)
                    if time.monotonic() - saved > 60 * recipe.run.checkpoint_minutes:
                        self._save()
                        saved = time.monotonic()
                    every = recipe.run.evaluate_every
                    if every and progress.step % every == 0 and progress.step < self.n_steps:
                        self.evaluate()
                    limit.check()
                self._watch()
            except torch.linalg.LinAlgError:  # type: ignore[attr-defined] # of a whitening whose input is not finite
                raise _diverged(f"Step {progress.step} has numbers that are not finite.") from None
            except (KeyboardInterrupt, OutOfTime):
                with signals.deferred():
                    self._save()
                raise
            self._save()

    def evaluate(self) -> None:
        """Log nDCG@10 on the BEIR folders of the recipe."""
        if not self._recipe.run.evaluate or not is_first():
            return
        device = self._trainee.device
        # The random numbers of later steps must not depend on evaluations, because a resumed run has others.
        with evaluation_mode(self._trainee.model), replayed(random_state(device), device):
            runtime = TorchRuntime(self._trainee.model, device)
            encoder = Encoder(self._learned_config(), self._trainee.tokenizer, runtime, "training")
            table = evaluate(
                encoder, self._recipe.run.evaluate, self._material.out_of_domain_texts, self._recipe.run.seed
            )
        for name, row in table.items():
            self._write_log({"evaluation": name, **{f"ndcg_{kind}": 100 * value for kind, value in row.items()}})
            figures = ", ".join(f"{kind} context {100 * value:.2f}" for kind, value in row.items())
            self._display.note(f"step {self._progress.step}: {name} nDCG@10 {figures}")

    def finish(self) -> Path:
        """Export the model with its learned whitening, and as `best` the model with the lowest held-out loss.

        Each folder is written completely or not at all.
        """
        folder = self._recipe.run.out / "checkpoint"
        if self._log is None:
            return folder
        self._log.finish()
        with after_last_state():
            self._write_checkpoints(folder)
        return folder

    def _write_checkpoints(self, folder: Path) -> None:
        self._export(folder)
        best, progress = folder.with_name("best"), self._progress
        if not math.isfinite(progress.best_loss):
            return
        lowest = f"The held-out loss was lowest at step {progress.best_step}: {progress.best_loss:.4f}."
        self._display.note(f"{lowest} Its model is written to {best}.")
        if progress.best_step == progress.step:
            self._display.note(f"Writing {best}")
            replace_folder(best, lambda unfinished: shutil.copytree(folder, unfinished))
        else:
            load_best(self._recipe.run.out, self._trainee.modules)
            self._export(best)

    def _export(self, folder: Path) -> None:
        self._check_numbers()
        self._display.note(f"Writing {folder}")
        self._trainee.model.config = self._learned_config()
        with as_written(self._trainee.model):
            export(self._trainee.model, self._recipe.model.start / "tokenizer.json", folder)

    def _learned_config(self) -> ModelConfig:
        """The configuration with the learned whitening and prefixes. Spans are at least as long as training texts."""
        config = self._trainee.model.config
        spans = config.span_tokens and max(config.span_tokens, self._recipe.batches.max_tokens)
        query, document = self._material.prefixes.of_checkpoint
        statistics = self._trainee.head.config()
        return replace(config, statistics=statistics, span_tokens=spans, query_prefix=query, document_prefix=document)

    def _step(self, batch: Batch) -> None:
        if not self._unread:
            self._started = time.monotonic()
        figures = self._steps.take(batch, self._progress.step, self.n_steps)
        self._progress.step = figures.step
        self._unread.append(figures)
        if len(self._unread) >= self._read_every:
            self._log_steps()

    def _log_steps(self) -> None:
        """Wait for the device, and log the steps since the last call; raises TrainingError if a loss is not finite."""
        unread, self._unread = self._unread, []
        figures = [of_step.read() for of_step in unread]
        for of_step, read in zip(unread, figures, strict=True):
            if not math.isfinite(read["loss"]):
                raise _diverged(f"The loss is {read['loss']} at step {of_step.step - 1}.")
        seconds = (time.monotonic() - self._started) / max(1, len(unread))
        for of_step, read in zip(unread, figures, strict=True):
            self._progress.seconds += seconds
            speed, loss = of_step.n_pairs / seconds, read["loss"]
            if self._log is not None:
                self._log.write(of_step.step, self._progress.seconds, {**read, "pairs_per_second": speed})
            self._display.detail(
                f"step {of_step.step}  loss {loss:.3f}  accuracy {read['accuracy']:.2f}  {_rounded(speed)} pairs/s"
            )

    def _watch(self) -> None:
        if not self._material.held_out or not is_first() or self._watched == self._progress.step:
            return
        self._watched = self._progress.step
        self._log_steps()
        loss = replace(self._steps.loss, teacher_weight=0.0)
        micro_batch = self._recipe.learning.micro_batch
        losses = held_out_losses(self._trainee.model, loss, self._steps.weights, self._material.held_out, micro_batch)
        self._write_log({"held_out": losses, "head": self._trainee.head.numbers()})
        figures = ", ".join(f"{name} {value:.4f}" for name, value in losses.items())
        self._display.note(f"step {self._progress.step}: held-out loss with context {figures}")
        if losses["true"] < self._progress.best_loss:
            self._check_numbers()
            save_best(self._recipe.run.out, self._recipe, self._trainee.modules)
            self._progress.best_step, self._progress.best_loss = self._progress.step, losses["true"]
            self._save()  # so that the state on disk agrees with the best weights

    def _has_stopped_improving(self) -> bool:
        run, progress = self._recipe.run, self._progress
        if run.patience is None:
            return False
        stopped = is_first() and progress.step - progress.best_step >= run.patience * run.watch_every
        return bool(highest(stopped, self._trainee.device))  # only the first has the losses

    def _save(self) -> None:
        self._log_steps()
        if is_first():
            self._check_numbers()
            out, modules, optimizer = self._recipe.run.out, self._trainee.modules, self._steps.optimizer
            save_state(out, self._recipe, self._progress, modules, optimizer, self._sources)

    def _check_numbers(self) -> None:
        """Raise TrainingError if a weight or a number of the whitening is not finite, before anything is written."""
        broken = first_not_finite(self._trainee.modules)
        if broken is None and all(map(math.isfinite, self._trainee.head.numbers().values())):
            return
        raise _diverged(
            f"After step {self._progress.step}, {broken or 'the whitening'} has numbers that are not finite; the last"
            " state and checkpoint are kept."
        )

    def _write_log(self, figures: dict[str, Any]) -> None:
        if self._log is not None:
            self._log.write(self._progress.step, self._progress.seconds, figures)


def _rounded(speed: float) -> str:
    """A speed as a whole number, or with two digits if it is below 10, so that a slow machine does not show 0."""
    return f"{speed:.0f}" if speed >= 10 else f"{speed:.2g}"


def _diverged(cause: str) -> TrainingError:
    return TrainingError(cause, "Lower the learning rates, and set another run.out.")


def _check_length(recipe: Recipe, progress: RunProgress, material: Material, n_steps: int) -> None:
    """Raise InputError if more steps were taken than the recipe has, or if `run.patience` has no held-out losses."""
    if progress.step > n_steps:
        raise InputError(
            f"{recipe.run.out} has taken {counted(progress.step, 'step')}, and the recipe has {n_steps:,}.",
            "Raise learning.steps, or set another run.out.",
        )
    if recipe.run.patience is not None and not material.held_out:
        raise InputError("run.patience needs held-out losses, but no pairs are held out.", "Raise data.held_out.")
