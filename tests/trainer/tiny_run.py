"""A run of the tiny model: its recipe, modules and optimizer."""

import torch
from batches import make_student

from trainer.recipe import check_recipe


def recipe_of(folder, *, small):
    values = {"data": {"pairs": ["p"]}, "model": {"start": "s"}, "run": {"out": folder, "small_state": small}}
    return check_recipe(values, folder)


def make_run(rate=1e-3):
    """A tiny student whose token embeddings are frozen, as in a recipe."""
    model, head = make_student()
    model.second_stage.backbone.tokens.requires_grad_(False)
    trained = [parameter for parameter in (*model.parameters(), *head.parameters()) if parameter.requires_grad]
    return {"model": model, "head": head}, torch.optim.AdamW(trained, rate)
