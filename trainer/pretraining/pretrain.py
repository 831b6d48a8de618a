"""A run of pretraining, from the recipe to the checkpoint."""

from pathlib import Path
from shlex import quote

from trainer.reporting import not_a_program

if __name__ == "__main__":
    not_a_program("trainer.pretraining.pretrain", "Run `cdesearch pretrain RECIPE`.")

import torch

from cdesearch.encode.load import load_tokenizer
from cdesearch.errors import InputError
from cdesearch.progress import Display
from cdesearch.terminal import counted
from trainer.data.pairs.reading import domain_files
from trainer.execution.distributed import world
from trainer.pretraining.learner import Learner
from trainer.pretraining.masked_learner import MaskedLearner
from trainer.pretraining.pretraining_run import PretrainingRun
from trainer.pretraining.recipe import PretrainingRecipe, check_kind
from trainer.pretraining.sequence_learner import SequenceLearner, tokenizer_file
from trainer.pretraining.token_documents import TokenDocuments, read_token_documents
from trainer.recipe import RunSettings
from trainer.run.folder import claim_folder, locked, refuse_earlier_run
from trainer.run.stop import terminable
from trainer.run.time_limit import NO_LIMIT, LimitedDisplay, TimeLimit


def pretrain(recipe: PretrainingRecipe, display: Display, *, resume: bool = False, limit: TimeLimit = NO_LIMIT) -> Path:
    """Run a recipe; returns the checkpoint folder. Raises CdesearchError. After Ctrl-C or a kill, `resume` continues.

    Without it, InputError is raised if the folder of the run holds an earlier one. Raises OutOfTime if `limit` ends the
    run early; the state is saved then.
    """
    check_kind(recipe, "The recipe")
    if world() > 1:
        raise InputError("Pretraining runs in one process.", "Leave torchrun out.")
    out = recipe.run.out
    for name, model in (("start", recipe.model.start), ("head", recipe.model.head)):
        if model is not None and out.resolve() in (model.resolve(), *model.resolve().parents):
            raise InputError(f"model.{name} is {model}, which the run would overwrite.", "Set another run.out.")
    with terminable():
        claim_folder(out, resume=resume)
        with locked(out, "run.out"):
            if not resume:
                refuse_earlier_run(RunSettings(out=out))
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            torch.set_float32_matmul_precision("high")  # on a GPU, TF32 for what is not in bf16
            documents = _documents(recipe, LimitedDisplay(display, limit))
            torch.manual_seed(recipe.run.seed)
            run = PretrainingRun(recipe, _learner(recipe, documents, device), display, resume=resume)
            run.go(limit)
            return run.finish()


def _documents(recipe: PretrainingRecipe, display: Display) -> TokenDocuments:
    files = domain_files(recipe.texts.files, recipe.texts.leave_out)
    tokenizer = load_tokenizer(tokenizer_file(recipe))
    advance = display.stage("Reading documents", None)
    found = read_token_documents(files, recipe.texts.cap, tokenizer, recipe.run.out / "data", advance)
    display.note(f"{counted(len(found), 'document')} with {len(found.ids):,} tokens")
    return found


def _learner(recipe: PretrainingRecipe, documents: TokenDocuments, device: torch.device) -> Learner:
    is_masked = recipe.objective.kind in ("condenser", "cocondenser")
    return (MaskedLearner if is_masked else SequenceLearner)(recipe, documents, device)


def next_step(recipe: PretrainingRecipe, checkpoint: Path) -> str:
    """What to do with a new checkpoint."""
    start = quote(f'model.start="{checkpoint}"')
    if recipe.objective.kind == "causal":
        return f"Next: cdesearch pretrain RECIPE --set {start}, with the kind diffusion"
    if recipe.objective.kind == "diffusion":
        return f"The checkpoint is in {checkpoint}. `cdesearch index FOLDER --model {quote(str(checkpoint))}` opens it."
    return f"Next: cdesearch train RECIPE --set {start}"
