"""A training run, from the recipe to the checkpoint."""

import math
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import nn

from cdesearch.encode.backends.torch import TorchRuntime
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import load_tokenizer
from cdesearch.errors import InputError, TrainingError
from cdesearch.models.config import NO_STATISTICS, ModelConfig
from cdesearch.models.contextual.model import ContextualModel, load_checkpoint
from cdesearch.progress import Display, Silent
from trainer.data.material import Material, prepare_material
from trainer.data.training_batch import Batch, tokenize
from trainer.execution.distributed import first_goes_ahead, highest, is_first, joined, rank, world
from trainer.execution.evaluation_mode import evaluation_mode
from trainer.export import export
from trainer.missing import missing_libraries
from trainer.recipe import ModelChoice, Recipe
from trainer.run.checkpoint import RunProgress, load_best, load_state, save_best, save_state
from trainer.run.evaluate import evaluate
from trainer.run.folder import claim_folder
from trainer.run.log import Log
from trainer.run.stop import StopSignals
from trainer.run.time_limit import NO_LIMIT, LimitedDisplay, OutOfTime, TimeLimit
from trainer.run.watch import held_out_losses
from trainer.start import is_published, start_model
from trainer.step.batch_loss import BatchLoss
from trainer.step.gradcache import GradCache, LossFn
from trainer.step.null_vector import start_null_vector
from trainer.step.parameter_groups import clip_by_group, make_optimizer, parameter_groups
from trainer.step.step_figures import StepFigures
from trainer.step.token_weights import TokenWeights
from trainer.step.whitening_head import WhiteningHead

FIRST_WEIGHT = 0.01  # the initial weight of a context in the softmax that it shares with the text
FIGURES_EVERY = 10  # steps on a GPU; to read their figures, the host waits until the device has computed them
NULL_TEXTS = 256  # the mean of their first-stage vectors is the initial null vector


def train(recipe: Recipe, display: Display, *, resume: bool = False, limit: TimeLimit = NO_LIMIT) -> Path:
    """Run a recipe; returns the checkpoint folder. Raises CdesearchError. After Ctrl-C or a kill, `resume` continues.

    Raises OutOfTime if `limit` ends the run early; the state is saved then.

    Under torchrun every process runs this function, and only the first one writes files and reports progress.
    """
    with joined() as device:
        display = display if is_first() else Silent()
        for line in missing_libraries(recipe, device):
            display.note(line)
        with first_goes_ahead():
            claim_folder(recipe.run.out, resume=resume)
        torch.set_float32_matmul_precision("high")  # on a GPU, TF32 for what is not in bf16
        torch.manual_seed(recipe.run.seed)
        model = starting_model(recipe.model).to(device)
        if model.second_stage.joint:  # in training so many rows precede each text
            model.config = replace(model.config, context_size=recipe.batches.context_size)
        tokenizer = load_tokenizer(recipe.model.start / "tokenizer.json")
        head = starting_head(recipe.model, model.config).to(device)
        with first_goes_ahead():
            material = prepare_material(recipe, model, tokenizer, LimitedDisplay(display, limit))
        if not resume and _context_is_untrained(recipe.model, model):
            texts = material.out_of_domain_texts[:: max(1, len(material.out_of_domain_texts) // NULL_TEXTS)]
            sample = tokenize(tokenizer, texts, model.config.document_prefix, recipe.batches.max_tokens)
            start_null_vector(model, sample, recipe.learning.micro_batch)
        run = _Run(recipe, model, head, tokenizer, material, display, resume=resume)
        run.go(limit)
        run.evaluate()
        return run.finish()


def starting_model(choice: ModelChoice) -> ContextualModel:
    """The start of a recipe in training mode, its gates as the recipe says; raises ModelError, InputError."""
    reads_context = choice.contextual and choice.gated_attention
    if is_published(choice.start):
        model = start_model(
            choice.start,
            first_stage=choice.first_stage if reads_context else "shared",
            context_attention=choice.context_attention,
            context_sink=reads_context and choice.context_attention == "cached" and choice.context_sink,
            context_source=choice.context_source if reads_context else "pooled",
            n_layers=choice.n_layers,
        )
    else:
        model = load_checkpoint(choice.start)
        if reads_context:
            _check_shape(choice, model.config)
    stage = model.second_stage
    if stage.gates_are_zero or not reads_context:
        # In one softmax, the gradient of a gate is proportional to its weight, so it cannot start at zero.
        least = FIRST_WEIGHT if model.config.context_attention == "one_softmax" else 0.0
        for cross_attention in stage.cross_attention:
            cross_attention.set_weight(max(choice.gate, least) if reads_context else 0.0)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = choice.dropout
    if choice.freeze_first_stage and model.own_first_stage is not None:
        model.own_first_stage.requires_grad_(False)
    if not reads_context:
        model.requires_grad_(False)
        model.second_stage.backbone.requires_grad_(True)
    if choice.freeze_tokens:
        for backbone in filter(None, (model.second_stage.backbone, model.own_first_stage)):
            backbone.tokens.requires_grad_(False)
    return model.train()


def starting_head(choice: ModelChoice, config: ModelConfig) -> WhiteningHead:
    """The whitening head of the start, or one that changes no vector and is not trained."""
    if choice.statistics:
        return WhiteningHead(config.statistics)
    return WhiteningHead(NO_STATISTICS).requires_grad_(False)


def _context_is_untrained(choice: ModelChoice, model: ContextualModel) -> bool:
    """Whether the null vector will be trained and no earlier training has used it."""
    stage = model.second_stage
    is_new = is_published(choice.start) or stage.gates_are_zero or not bool(stage.null.any())
    return is_new and stage.null.requires_grad


def _check_shape(choice: ModelChoice, config: ModelConfig) -> None:
    """Raise InputError if a recipe asks for another shape than its checkpoint has."""
    shape = {
        "context_attention": config.context_attention,
        "first_stage": config.first_stage,
        "n_layers": config.backbone.n_layers,
        "context_sink": config.context_sink,
        "context_source": config.context_source,
    }
    for key, value in shape.items():
        if key in choice.set_keys and getattr(choice, key) not in (None, value):
            raise InputError(
                f"model.{key} is {getattr(choice, key)}, but {choice.start} was made with {value}.",
                "Leave the key out, or start from a published biencoder.",
            )


class _Run:
    """The state of one run: its model, data, optimizer and log."""

    def __init__(
        self,
        recipe: Recipe,
        model: ContextualModel,
        head: WhiteningHead,
        tokenizer: Tokenizer,
        material: Material,
        display: Display,
        *,
        resume: bool,
    ) -> None:
        self._recipe = recipe
        self._model = model
        self._head = head
        self._tokenizer = tokenizer
        self._material = material
        self._display = display
        learning = recipe.learning
        self._modules: dict[str, nn.Module] = {"model": model, "head": head}
        self._groups = parameter_groups(model, head)
        self._optimizer = make_optimizer(self._groups, learning)
        self._progress = RunProgress()
        if resume:
            self._progress = load_state(recipe.run.out, recipe, self._modules, self._optimizer)
        self._log = Log(recipe.run.out, anew=not self._progress.step) if is_first() else None
        device = next(model.parameters()).device
        special = sorted(tokenizer.get_added_tokens_decoder())
        self._weights = TokenWeights(model.config.backbone.vocabulary, special, device)
        self._loss = BatchLoss(head, model.config.document_weight, learning.temperature, learning.teacher_weight)
        precision = torch.bfloat16 if learning.precision == "bf16" else torch.float32
        self._cache = GradCache(
            model,
            head,
            learning.micro_batch,
            freeze_first_stage=recipe.model.freeze_first_stage,
            precision=precision,
            kept_graphs=learning.kept_graphs,
            own_batches=recipe.batches.processes == "own",
        )
        steps = learning.steps
        # Which of every so many batches this process takes.
        self._share = (rank(), world()) if recipe.batches.processes == "own" else (0, 1)
        of_epoch = material.stream.steps_per_epoch // self._share[1]
        self.n_steps = learning.epochs * of_epoch if steps is None else steps
        self._unread: list[StepFigures] = []
        self._started = time.monotonic()  # of the first step in _unread
        self._read_every = FIGURES_EVERY if device.type == "cuda" else 1
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
        upcoming = self._material.stream.upcoming(progress.step, self.n_steps, self._share)
        with StopSignals(next(self._model.parameters()).device) as signals, closing(upcoming) as batches:
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
            except (KeyboardInterrupt, OutOfTime):
                with signals.deferred():
                    self._save()
                raise
            self._save()

    def evaluate(self) -> None:
        """Log nDCG@10 on the BEIR folders of the recipe."""
        if not self._recipe.run.evaluate or not is_first():
            return
        runtime = TorchRuntime(self._model, next(self._model.parameters()).device)
        encoder = Encoder(self._learned_config(), self._tokenizer, runtime, "training")
        with evaluation_mode(self._model):
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
        if not is_first():
            return folder
        self._write_folder(folder, self._export)
        best, progress = folder.with_name("best"), self._progress
        if not math.isfinite(progress.best_loss):
            shutil.rmtree(best, ignore_errors=True)  # of an earlier run
            return folder
        self._display.note(f"The held-out loss was lowest at step {progress.best_step}: {progress.best_loss:.4f}")
        if progress.best_step == progress.step:
            self._write_folder(best, lambda unfinished: shutil.copytree(folder, unfinished))
        else:
            load_best(self._recipe.run.out, self._modules)
            self._write_folder(best, self._export)
        return folder

    def _write_folder(self, folder: Path, write: Callable[[Path], object]) -> None:
        self._display.note(f"Writing {folder}")
        unfinished = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(unfinished, ignore_errors=True)
        write(unfinished)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.replace(folder)

    def _export(self, folder: Path) -> None:
        self._model.config = self._learned_config()
        export(self._model, self._recipe.model.start / "tokenizer.json", folder)

    def _learned_config(self) -> ModelConfig:
        """The configuration with the learned whitening and prefixes. Spans are at least as long as training texts."""
        config = self._model.config
        spans = config.span_tokens and max(config.span_tokens, self._recipe.batches.max_tokens)
        query, document = self._material.prefixes.of_checkpoint
        statistics = self._head.config()
        return replace(config, statistics=statistics, span_tokens=spans, query_prefix=query, document_prefix=document)

    def _step(self, batch: Batch) -> None:
        if not self._unread:
            self._started = time.monotonic()
        self._set_rates()
        self._optimizer.zero_grad(set_to_none=True)
        output = self._cache.step(batch, self._weights.of(batch, self._head), self._loss_fn(batch))
        self._cache.sum_gradients()
        norms = clip_by_group(self._groups, self._recipe.learning.clip)
        self._optimizer.step()
        self._progress.step += 1
        self._unread.append(StepFigures(self._progress.step, len(batch.queries), output, norms))
        if len(self._unread) >= self._read_every:
            self._log_steps()

    def _log_steps(self) -> None:
        """Wait for the device and log the steps since the last time; raises TrainingError for a loss of nan."""
        unread, self._unread = self._unread, []
        figures = [of_step.read() for of_step in unread]
        for of_step, read in zip(unread, figures, strict=True):
            if not math.isfinite(read["loss"]):
                raise TrainingError(
                    f"The loss is {read['loss']} at step {of_step.step - 1}.",
                    f"The last good checkpoint is in {self._recipe.run.out}; lower learning.rate and --resume.",
                )
        seconds = (time.monotonic() - self._started) / max(1, len(unread))
        for of_step, read in zip(unread, figures, strict=True):
            self._progress.seconds += seconds
            speed = of_step.n_pairs / seconds
            if self._log is not None:
                self._log.write(of_step.step, self._progress.seconds, {**read, "pairs_per_second": speed})
            self._display.detail(
                f"step {of_step.step}  loss {read['loss']:.3f}  accuracy {read['accuracy']:.2f}  {speed:.0f} pairs/s"
            )

    def _loss_fn(self, batch: Batch) -> LossFn:
        return lambda queries, documents, context: self._loss.of(
            batch, queries, documents, context if batch.is_contextual else None
        )

    def _set_rates(self) -> None:
        """Set the learning rates: linear warmup, then linear decay to zero."""
        step, warmup = self._progress.step, self._recipe.learning.warmup
        factor = (step + 1) / warmup if step < warmup else (self.n_steps - step) / max(1, self.n_steps - warmup)
        for group in self._optimizer.param_groups:
            group["lr"] = group["peak"] * factor

    def _watch(self) -> None:
        if not self._material.held_out or not is_first() or self._watched == self._progress.step:
            return
        self._watched = self._progress.step
        self._log_steps()
        loss = replace(self._loss, teacher_weight=0.0)
        micro_batch = self._recipe.learning.micro_batch
        losses = held_out_losses(self._model, loss, self._weights, self._material.held_out, micro_batch)
        self._write_log({"held_out": losses, "head": self._head.numbers()})
        figures = ", ".join(f"{name} {value:.4f}" for name, value in losses.items())
        self._display.note(f"step {self._progress.step}: held-out loss with context {figures}")
        if losses["true"] < self._progress.best_loss:
            save_best(self._recipe.run.out, self._recipe, self._modules)
            self._progress.best_step, self._progress.best_loss = self._progress.step, losses["true"]
            self._save()  # so that the state on disk agrees with the best weights

    def _has_stopped_improving(self) -> bool:
        run, progress = self._recipe.run, self._progress
        if run.patience is None:
            return False
        stopped = is_first() and progress.step - progress.best_step >= run.patience * run.watch_every
        return bool(highest(stopped, next(self._model.parameters()).device))  # only the first has the losses

    def _save(self) -> None:
        self._log_steps()
        if is_first():
            save_state(self._recipe.run.out, self._recipe, self._progress, self._modules, self._optimizer)

    def _write_log(self, figures: dict[str, Any]) -> None:
        if self._log is not None:
            self._log.write(self._progress.step, self._progress.seconds, figures)


def _check_length(recipe: Recipe, progress: RunProgress, material: Material, n_steps: int) -> None:
    """Raise InputError if the run is longer than its recipe, or if there are no held-out losses for `run.patience`."""
    if progress.step > n_steps:
        raise InputError(
            f"{recipe.run.out} has taken {progress.step} steps, and the recipe has {n_steps}.",
            "Raise learning.steps, or run without --resume.",
        )
    if recipe.run.patience is not None and not material.held_out:
        raise InputError("run.patience needs held-out losses, but no pairs are held out.", "Raise data.held_out.")
