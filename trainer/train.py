"""A training run, from the recipe to the checkpoint."""

from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path

from trainer.reporting import not_a_program

if __name__ == "__main__":
    not_a_program("trainer.train", "Run `python -m trainer RECIPE`.")  # before the imports below, which need torch

import torch

from cdesearch.encode.load import load_tokenizer
from cdesearch.progress import Display, Silent
from trainer.data.material import prepare_material
from trainer.data.training_batch import tokenize
from trainer.execution.compiled import compile_layers
from trainer.execution.distributed import first_goes_ahead, is_first, joined
from trainer.missing import check_named, missing_libraries
from trainer.recipe import Recipe
from trainer.run.checkpoint import check_start
from trainer.run.folder import check_resumable, claim_folder, locked, refuse_earlier_run, refuse_overwritten_models
from trainer.run.sources import check_joined
from trainer.run.stop import terminable
from trainer.run.time_limit import NO_LIMIT, LimitedDisplay, OutOfTime, TimeLimit
from trainer.run.training_run import TrainingRun
from trainer.starting import check_widths, context_is_untrained, starting_head, starting_model
from trainer.step.null_vector import start_null_vector
from trainer.step.optimizer_steps import Trainee

NULL_TEXTS = 256  # the mean of their first-stage vectors is the initial null vector


def train(recipe: Recipe, display: Display, *, resume: bool = False, limit: TimeLimit = NO_LIMIT) -> Path:
    """Run a recipe; returns the checkpoint folder. Raises CdesearchError. After Ctrl-C or a kill, `resume` continues.
    Without it, InputError is raised if the folder of the run holds an earlier one.

    Raises OutOfTime if `limit` ends the run early; the state is saved then.

    Under torchrun every process runs this function, and only the first one writes files and reports progress.
    """
    with terminable(), joined() as device, ExitStack() as stack:
        display = display if is_first() else Silent()
        for line in missing_libraries(recipe, device):
            display.note(line)
        refuse_overwritten_models(recipe)
        check_joined(recipe)
        check_named(recipe)
        if resume:
            check_resumable(recipe.run.out)  # not only after the preparation, which can take hours
        with first_goes_ahead(device):
            claim_folder(recipe.run.out, resume=resume)  # before anything is written: it refuses foreign folders
            if is_first():
                stack.enter_context(locked(recipe.run.out, "run.out"))
            if not resume:
                refuse_earlier_run(recipe.run)
        torch.set_float32_matmul_precision("high")  # on a GPU, TF32 for what is not in bf16
        torch.manual_seed(recipe.run.seed)
        model = starting_model(recipe.model).to(device)
        check_start(recipe.model.start, {"model": model})
        check_widths(recipe, model.config)
        if model.second_stage.joint:  # in training so many rows precede each text
            model.config = replace(model.config, context_size=recipe.batches.context_size)
        tokenizer = load_tokenizer(recipe.model.start / "tokenizer.json")
        if recipe.learning.compile:
            compile_layers(model)
        trainee = Trainee(model, starting_head(recipe.model, model.config).to(device), tokenizer)
        shared = recipe.run.work  # runs may have one folder of prepared data
        lock = locked(shared, "run.work") if shared and is_first() else nullcontext()
        with first_goes_ahead(device, OutOfTime), lock:
            material = prepare_material(recipe, model, tokenizer, LimitedDisplay(display, limit))
        if not resume and context_is_untrained(recipe.model, model):
            texts = material.out_of_domain_texts[:: max(1, len(material.out_of_domain_texts) // NULL_TEXTS)]
            sample = tokenize(tokenizer, texts, model.config.document_prefix, recipe.batches.max_tokens)
            start_null_vector(model, sample, recipe.learning.micro_batch)
        run = TrainingRun(recipe, trainee, material, display, resume=resume)
        run.go(limit)
        run.evaluate()
        return run.finish()
