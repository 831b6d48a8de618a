"""A run of pretraining, from the recipe to the checkpoint."""

from importlib.util import find_spec
from pathlib import Path
from shlex import quote

from trainer.reporting import not_a_program

if __name__ == "__main__":
    not_a_program("trainer.pretraining.pretrain", "Run `cdesearch pretrain RECIPE`.")

import torch
from tokenizers import Tokenizer

from cdesearch.encode.load import load_tokenizer
from cdesearch.errors import InputError
from cdesearch.models.hub import NEEDS_HUB
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
from trainer.run.checkpoint import check_start
from trainer.run.folder import check_resumable, claim_folder, locked, refuse_earlier_run
from trainer.run.stop import terminable

NO_START = "`cdesearch train` cannot start from it, because it starts from a BERT, or from a checkpoint of its own."


def pretrain(recipe: PretrainingRecipe, display: Display, *, resume: bool = False) -> Path:
    """Run a recipe; returns the checkpoint folder. Raises CdesearchError. After Ctrl-C or a kill, `resume` continues.

    Without it, InputError is raised if the folder of the run holds an earlier one.
    """
    check_kind(recipe, "The recipe")
    if world() > 1:
        raise InputError("Pretraining runs in one process.", "Leave torchrun out.")
    if not _is_masked(recipe) and find_spec("transformers") is None:
        raise InputError(
            f"Pretraining of the kind {recipe.objective.kind} needs transformers, which is not installed.", NEEDS_HUB
        )
    out = recipe.run.out
    for name, model in (("start", recipe.model.start), ("head", recipe.model.head)):
        if model is not None and out.resolve() in (model.resolve(), *model.resolve().parents):
            raise InputError(f"model.{name} is {model}, which the run would overwrite.", "Set another run.out.")
    if resume:
        check_resumable(out)
    with terminable():
        claim_folder(out, resume=resume)
        with locked(out, "run.out"):
            if not resume:
                refuse_earlier_run(RunSettings(out=out))
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            torch.set_float32_matmul_precision("high")  # on a GPU, TF32 for what is not in bf16
            documents = _documents(recipe, display)
            torch.manual_seed(recipe.run.seed)
            learner = _learner(recipe, documents, device)
            for name, module in learner.modules.items():
                check_start((name == "head" and recipe.model.head) or recipe.model.start, {name: module})
            run = PretrainingRun(recipe, learner, display, resume=resume)
            run.go()
            return run.finish()


def _documents(recipe: PretrainingRecipe, display: Display) -> TokenDocuments:
    files = domain_files(recipe.texts.files, recipe.texts.leave_out)
    tokenizer = load_tokenizer(tokenizer_file(recipe))
    advance = display.stage("Reading documents", None)
    found = read_token_documents(files, recipe.texts.cap, tokenizer, recipe.run.out / "data", advance)
    display.note(f"{counted(len(found), 'document')} with {len(found.ids):,} tokens")
    _check_mask(recipe, tokenizer, found)
    return found


def _check_mask(recipe: PretrainingRecipe, tokenizer: Tokenizer, documents: TokenDocuments) -> None:
    """Raise InputError if the mask is a token of the texts. A special token may be quoted in one."""
    mask = tokenizer.token_to_id(recipe.objective.mask_token)
    if recipe.objective.kind == "causal" or mask is None or mask in tokenizer.get_added_tokens_decoder():
        return
    if (documents.ids == mask).any():
        raise InputError(
            f"objective.mask_token is {recipe.objective.mask_token}, which the texts contain.",
            "Set it to a special token of the tokenizer, or to one that no text contains.",
        )


def _learner(recipe: PretrainingRecipe, documents: TokenDocuments, device: torch.device) -> Learner:
    return (MaskedLearner if _is_masked(recipe) else SequenceLearner)(recipe, documents, device)


def _is_masked(recipe: PretrainingRecipe) -> bool:
    return recipe.objective.kind in ("condenser", "cocondenser")


def next_step(recipe: PretrainingRecipe, checkpoint: Path) -> str:
    """What to do with a new checkpoint."""
    start = quote(f'model.start="{checkpoint}"')
    if _is_masked(recipe):
        return f"Next: cdesearch train RECIPE --set {start}"
    index = f"cdesearch index FOLDER --model {quote(str(checkpoint))}"
    if recipe.objective.kind == "diffusion":
        return f"Next: {index}\n{NO_START}"
    return (
        f"Next: cdesearch pretrain RECIPE --set {start} --set objective.kind=diffusion --set run.out=OUT\n"
        f"Or: {index}\n{NO_START}"
    )
