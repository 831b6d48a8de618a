"""A run of pretraining, from the recipe to the checkpoint."""

import math
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from shlex import quote

import torch

from cdesearch.encode.load import load_tokenizer
from cdesearch.errors import InputError, extra_with_torch
from cdesearch.progress import Display
from cdesearch.terminal import counted
from trainer.data.pairs.reading import domain_files
from trainer.execution import world
from trainer.pretraining.condenser import MaskedLearner
from trainer.pretraining.diffusion import SequenceLearner, tokenizer_file
from trainer.pretraining.recipe import PretrainingRecipe
from trainer.pretraining.texts import read_token_documents
from trainer.run.folder import refuse_overwritten, run_folder, write_log
from trainer.run.loop import Work, begin, diverged, take_steps, terminable
from trainer.run.state import Running, digest_of_start, first_not_finite, save_state
from trainer.step.optimizer import Groups, clip_by_group, linear, make_optimizer

NO_START = "`cdesearch train` cannot start from it, because it starts from a BERT, or from a checkpoint of its own."
# Settings that may differ on resume: how long the run takes, how often it reports, and where its texts and folders are.
MAY_CHANGE = ("learning.steps", "texts.files", "model.start", "model.head", "network.tokenizer", "run.out", "run.watch")


Learner = MaskedLearner | SequenceLearner


def pretrain(recipe: PretrainingRecipe, display: Display, *, resume: bool = False) -> Path:
    """Run a recipe; returns the checkpoint folder. Raises CdesearchError. After a kill, `resume` continues."""
    if world() > 1:
        raise InputError("Pretraining runs in one process.", "Leave torchrun out.")
    if not recipe.is_masked and find_spec("transformers") is None:
        kind = recipe.objective.kind
        raise InputError(
            f"Pretraining of the kind {kind} needs transformers, which is not installed.", extra_with_torch("hub")
        )
    out = recipe.run.out
    refuse_overwritten(out, {"model.start": recipe.model.start, "model.head": recipe.model.head})
    with terminable(), run_folder(out, resume=resume):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        torch.set_float32_matmul_precision("high")  # on a GPU, TF32 for what is not in bf16
        files, tokenizer = domain_files(recipe.texts.files), load_tokenizer(tokenizer_file(recipe))
        advance = display.stage("Reading documents", None)
        documents = read_token_documents(files, recipe.texts.cap, tokenizer, out / "data", advance)
        display.note(f"{counted(len(documents), 'document')} with {len(documents.passages.values):,} tokens")
        torch.manual_seed(recipe.run.seed)
        learner: Learner = (MaskedLearner if recipe.is_masked else SequenceLearner)(recipe, documents, device)
        PretrainingRun(recipe, learner, documents.digest, display, resume=resume).go(device)
        display.note(f"Writing {out / 'checkpoint'}")
        learner.save(out)
        return out / "checkpoint"


class PretrainingRun:
    """The loop of one run."""

    def __init__(
        self, recipe: PretrainingRecipe, learner: Learner, texts: str, display: Display, *, resume: bool
    ) -> None:
        """With `resume`, continue from the state on disk; raises InputError if it does not fit. `texts` is a digest."""
        self._recipe = recipe
        self._learner = learner
        self._display = display
        self._groups: Groups = {
            name: [one for one in module.parameters() if one.requires_grad] for name, module in learner.modules.items()
        }
        rates = dict.fromkeys(self._groups, recipe.learning.rate)
        optimizer = make_optimizer(self._groups, rates, beta2=0.98)
        digests = {"texts": texts, "start": "" if learner.start is None else digest_of_start(learner.start)}
        self._state = Running(recipe.run.out, recipe, digests, learner.modules, optimizer, MAY_CHANGE)
        begin(self._state, recipe.learning.steps, resume=resume)

    def go(self, device: torch.device) -> None:
        work, recipe = Work(self._step, self._watch, self._save), self._recipe
        take_steps(work, self._state, recipe.learning.steps, recipe.run.watch_every, self._display, device)

    def _step(self) -> None:
        started, state = time.monotonic(), self._state
        learning = self._recipe.learning
        for group in state.optimizer.param_groups:
            # With a new head the network learns nothing in the first steps, and then has its own warmup.
            waiting = learning.head_warmup if group["name"] == "network" else 0
            factor = linear(state.step - waiting, max(1, learning.steps - waiting), learning.warmup)
            group["lr"] = group["peak"] * (factor if state.step >= waiting else 0.0)
        state.optimizer.zero_grad(set_to_none=True)
        added = self._learner.add_gradient(state.step)
        norms = clip_by_group(self._groups)
        figures = {name: float(figure) for name, figure in added.items()}
        if not math.isfinite(figures["loss"]):
            raise diverged(f"The loss is {figures['loss']} at step {state.step}.")
        state.optimizer.step()
        state.step += 1
        seconds = max(1e-9, time.monotonic() - started)
        state.seconds += seconds
        write_log(self._state, {**figures, "norms": {name: float(norm) for name, norm in norms.items()}})
        self._display.detail(f"step {state.step}  {shown(figures)}  {1 / seconds:.2g} steps/s")

    def _watch(self) -> None:
        if losses := self._learner.held_out():
            write_log(self._state, {"held_out": dict(losses)})
            self._display.note(f"step {self._state.step}: held-out loss {shown(losses)}")

    def _save(self) -> None:
        if broken := first_not_finite(self._learner.modules):
            raise diverged(f"After step {self._state.step}, {broken} has numbers that are not finite.")
        save_state(self._state)


def shown(figures: Mapping[str, float]) -> str:
    """Figures with their names, for people."""
    return "  ".join(f"{name} {figure:.3f}" for name, figure in figures.items())


def next_step(recipe: PretrainingRecipe, checkpoint: Path) -> str:
    """What to do with a new checkpoint."""
    if recipe.is_masked:
        start = quote(f'model.start="{checkpoint}"')
        return f"Next: cdesearch train RECIPE --set {start}"
    return f"Next: cdesearch index FOLDER --model {quote(str(checkpoint))}\n{NO_START}"
