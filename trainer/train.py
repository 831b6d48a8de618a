"""A training run: prepare, then a step for every batch, then save.

prepare      model, whitening head, data, optimizer
batches      trainer/data/batches/stream.py: the batch of a step follows from the step and the seed
step         trainer/step/gradcache.py: the gradient of a batch
save         state.pt every few minutes, on Ctrl-C and SIGTERM; the checkpoint at the end
"""

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import replace
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

from cdesearch.encode.load import load_tokenizer
from cdesearch.models.contextual.model import ContextualModel
from cdesearch.progress import Display, Silent
from trainer.data.material import Material, prepare_material
from trainer.data.training_batch import Batch, Tokens, tokenize
from trainer.execution import evaluation_mode, first_goes_ahead, is_first, joined, mean, rank, world
from trainer.export import export
from trainer.loss.batch_loss import BatchLoss, LossOutput, document_share
from trainer.loss.heads import TokenWeights, WhiteningHead
from trainer.recipe import Recipe
from trainer.run.folder import CHECKPOINT, check_named, locked, read_log, refuse_overwritten, run_folder, write_log
from trainer.run.loop import Work, begin, diverged, take_steps, terminable
from trainer.run.state import Running, digest_of_start, first_not_finite, save_state
from trainer.starting import context_is_untrained, start_null_vector, starting_head, starting_model
from trainer.step.gradcache import GradCache
from trainer.step.optimizer import clip_by_group, linear, make_optimizer, parameter_groups

GATE_RATE = 1e-2  # of the gates, which must change by about 1 from their start at 0
HEAD_RATE = 1e-3  # of the four numbers of the whitening
# Settings that may differ on resume: how long the run takes, and where its folders are. Digests decide on contents.
MAY_CHANGE = (
    *("learning.steps", "learning.epochs", "run.out", "run.work"),
    *("run.surrogate", "objective.teachers", "data.", "model.start"),
)


@torch.no_grad()
def held_out_losses(
    cache: GradCache, loss: BatchLoss, weights: TokenWeights, batches: Sequence[Batch]
) -> dict[str, float]:
    """Mean losses with the `true` context, a `random` one (the next batch's) and the `null` context.

    Three equal losses mean that the model does not use its context. The loss has no teacher. If contexts are disjoint
    from their batches, `batch` is the loss with the documents of the batch as its context.
    """
    null = Tokens(*torch.ones(2, cache.model.config.null_slots, 1, dtype=torch.long))
    losses: dict[str, list[float]] = {}
    with evaluation_mode(cache.model):
        for number, batch in enumerate(batches):
            following = batches[(number + 1) % len(batches)]
            contexts: dict[str, tuple[Tokens, Batch | None]] = {
                "true": (batch.context_texts, batch),
                "random": (following.context_texts, following),
                "null": (null, None),
            }
            if batch.context_tokens is not None:
                contexts["batch"] = (batch.documents.take(batch.context), batch)
            for name, (texts, source) in contexts.items():
                table = weights.equal() if source is None else weights.of(source, loss.head)()
                queries, documents = cache.vectors(batch.in_context(texts, is_null=source is None), table)
                sample = None
                if source is not None:
                    own = documents if source is batch else cache.vectors(source.in_context(texts), table)[1]
                    sample = own[source.context]
                losses.setdefault(name, []).append(loss.of(batch, queries, documents, sample).loss.item())
    return {name: sum(values) / len(values) for name, values in losses.items()}


def what_was_learned(first: Mapping[str, float], last: Mapping[str, float]) -> str:
    """What the first and the last held-out losses of a run say."""
    own, random, null = (first[name] - last[name] for name in ("true", "random", "null"))
    learns = "" if own > max(random, null) else " not"
    return (
        f"The held-out loss fell from {first['true']:.3f} to {last['true']:.3f}: by {own:.3f} with its own context, by"
        f" {random:.3f} with that of another batch, and by {null:.3f} without one. So its own context has{learns}"
        " become more useful."
    )


def train(recipe: Recipe, display: Display, *, resume: bool = False) -> Path:
    """Run a recipe; returns the checkpoint folder. Raises CdesearchError. After Ctrl-C or a kill, `resume` continues.

    Without it, InputError is raised if the folder of the run holds an earlier one. Under torchrun every process runs
    this function, and only the first one writes files and reports progress.
    """
    with terminable(), joined() as device, ExitStack() as locks:
        display = display if is_first() else Silent()
        out, work = recipe.run.out, recipe.run.work
        refuse_overwritten(out, {"model.start": recipe.model.start, "run.surrogate": recipe.run.surrogate})
        check_named(recipe)
        with first_goes_ahead(device):
            if is_first():
                locks.enter_context(run_folder(out, resume=resume))
        run = TrainingRun(recipe, display, device)
        lock = locked(work, "run.work") if work is not None and is_first() else nullcontext()
        with first_goes_ahead(device), lock:
            material = prepare_material(recipe, run.model, run.tokenizer, display)
        run.begin(material, resume=resume)
        run.go()
        return run.finish()


class TrainingRun:
    """One run: what is trained, its data, optimizer, state and log."""

    material: Material
    state: Running
    n_steps: int

    def __init__(self, recipe: Recipe, display: Display, device: torch.device) -> None:
        """Open the start on a device; raises ModelError, InputError."""
        self.recipe = recipe
        self.display = display
        self.device = device
        torch.set_float32_matmul_precision("high")  # on a GPU, TF32 for what is not in bf16
        torch.manual_seed(recipe.run.seed)
        self.model: ContextualModel = starting_model(recipe.model).to(device)
        if recipe.model.attends:  # an index samples as many chunks as the model has learned to read
            self.model.config = replace(self.model.config, context_size=recipe.batches.context_size)
        self.head: WhiteningHead = starting_head(recipe.model, self.model.config).to(device)
        self.tokenizer: Tokenizer = load_tokenizer(recipe.model.start / "tokenizer.json")
        learning = recipe.learning
        self.groups = parameter_groups(self.model, self.head)
        rates = {"backbone": learning.rate, "context": learning.context_rate, "gates": GATE_RATE, "head": HEAD_RATE}
        self.optimizer = make_optimizer(self.groups, rates)
        config, special = self.model.config, list(self.tokenizer.get_added_tokens_decoder())
        self.weights = TokenWeights(config.backbone.vocabulary, special, device)
        self.loss = BatchLoss(
            self.head, config.document_weight, learning.temperature, learning.teacher_weight, recipe.objective
        )
        precision = torch.bfloat16 if learning.precision == "bf16" else torch.float32
        self.cache = GradCache(self.model, self.head, learning.micro_batch, precision=precision)
        self._watched = -1  # the step of the last held-out losses

    def begin(self, material: Material, *, resume: bool) -> None:
        """Begin with the prepared data, or with `resume` where the state on disk ends; raises CdesearchError."""
        recipe, model = self.recipe, self.model
        self.material = material
        if not resume and context_is_untrained(recipe.model, model):
            limit = recipe.batches.max_tokens
            sample = tokenize(self.tokenizer, self.material.texts, model.config.document_prefix, limit)
            start_null_vector(model, sample, recipe.learning.micro_batch)
        digests = self.material.digests | {"start": digest_of_start(recipe.model.start)}
        modules = {"model": model, "head": self.head}
        self.state = Running(recipe.run.out, recipe, digests, modules, self.optimizer, MAY_CHANGE)
        of_epoch, steps = self.material.stream.steps_per_epoch // world(), recipe.learning.steps
        self.n_steps = recipe.learning.epochs * of_epoch if steps is None else steps
        begin(self.state, self.n_steps, resume=resume)

    def go(self) -> None:
        step, every = self.state.step, self.recipe.run.watch_every
        upcoming = self.material.stream.upcoming(step, self.n_steps, (rank(), world()))
        with closing(upcoming) as batches:
            work = Work(lambda: self._step(next(batches)), self._watch, self._save)
            try:
                take_steps(work, self.state, self.n_steps, every, self.display, self.device)
            except torch.linalg.LinAlgError:  # type: ignore[attr-defined] # of a whitening whose input is not finite
                raise diverged(f"Step {self.state.step} has numbers that are not finite.") from None

    def finish(self) -> Path:
        """Export the model, and say what the held-out losses show."""
        folder = self.recipe.run.out / CHECKPOINT
        if not is_first():
            return folder
        self._check_numbers()
        self.display.note(f"Writing {folder}")
        config = self.model.config  # its spans become at least as long as the texts of training
        spans = config.span_tokens and max(config.span_tokens, self.recipe.batches.max_tokens)
        self.model.config = replace(config, statistics=self.head.config(), span_tokens=spans)
        export(self.model, self.recipe.model.start / "tokenizer.json", folder)
        if watched := [line["held_out"] for line in read_log(self.recipe.run.out) if "held_out" in line]:
            self.display.note(what_was_learned(watched[0], watched[-1]))
        return folder

    def _step(self, batch: Batch) -> None:
        started = time.monotonic()
        step, learning = self.state.step, self.recipe.learning
        factor = linear(step, self.n_steps, learning.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = group["peak"] * factor
        self.optimizer.zero_grad(set_to_none=True)
        share = document_share(step, self.n_steps)

        def loss_fn(queries: Tensor, documents: Tensor, context: Tensor) -> LossOutput:
            return self.loss.of(batch, queries, documents, context if batch.is_contextual else None, share)

        output = self.cache.step(batch, self.weights.of(batch, self.head), loss_fn)
        self.cache.average_gradients()
        norms = clip_by_group(self.groups)
        self.optimizer.step()
        self.state.step += 1
        read = torch.stack([output.loss.detach(), output.accuracy, *norms.values()]).float()
        loss, accuracy, *values = mean(read).tolist()
        if not math.isfinite(loss):
            raise diverged(f"The loss is {loss} at step {step}.")
        seconds = time.monotonic() - started
        self.state.seconds += seconds
        speed = len(batch.queries) * world() / seconds
        figures = {"loss": loss, "accuracy": accuracy, "norm": math.hypot(*values)}
        write_log(self.state, {**figures, "norms": dict(zip(norms, values, strict=True)), "pairs_per_second": speed})
        self.display.detail(f"step {step + 1}  loss {loss:.3f}  accuracy {accuracy:.2f}  {speed:.3g} pairs/s")

    def _watch(self) -> None:
        step = self.state.step
        if not is_first() or not self.material.held_out or self._watched == step:
            return
        self._watched = step
        loss = replace(self.loss, teacher_weight=0.0)
        losses = held_out_losses(self.cache, loss, self.weights, self.material.held_out)
        gates = [round(gate.tanh().abs().max().item(), 4) for gate in self.model.second_stage.gates]
        write_log(self.state, {"held_out": losses, "head": self.head.numbers(), "gates": gates})
        figures = ", ".join(f"{name} {value:.4f}" for name, value in losses.items())
        opened = f", gates up to {max(gates):.3f}" if self.recipe.model.attends and gates else ""
        self.display.note(f"step {step}: held-out loss with context {figures}{opened}")

    def _save(self) -> None:
        if is_first():
            self._check_numbers()
            save_state(self.state)

    def _check_numbers(self) -> None:
        """Raise TrainingError if a weight or a number of the whitening is not finite, before anything is written."""
        broken = first_not_finite(self.state.modules)
        if broken is not None or not all(map(math.isfinite, self.head.numbers().values())):
            raise diverged(
                f"After step {self.state.step}, {broken or 'the whitening'} has numbers that are not finite;"
                " the last state and checkpoint are kept."
            )
