import pytest
import torch
from batches import gradients
from random_texts import documents, recipe_of

from trainer.pretraining.condenser import MaskedLearner, contrast_spans


def make_learner(folder, start, **changes):
    recipe = recipe_of(folder, start, **changes)
    torch.manual_seed(0)
    learner = MaskedLearner(recipe, documents(folder), torch.device("cpu"))
    for module in learner.condenser.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return learner


def full_graph(learner, spans):
    """The loss of all spans in one forward pass."""
    condenser, ids, mask = learner.condenser, spans.tokens.ids, spans.tokens.mask
    states = condenser.states(ids, mask)
    tokens = sum(condenser.losses(states, mask, spans.ids, spans.chosen)) / spans.chosen.sum()
    loss = contrast_spans(states.vectors, "cosine", 0.05)[0] + tokens
    loss.backward()
    return loss.item()


@pytest.mark.parametrize("micro_batch", [1, 5, 64])
def test_the_gradient_cache_gives_the_gradient_of_the_full_graph(tmp_path, start, micro_batch):
    changes = {"objective__contrast": "cosine", "objective__temperature": 0.05, "learning__micro_batch": micro_batch}
    cached, whole = (make_learner(tmp_path / name, start, **changes) for name in ("cached", "whole"))
    spans = cached._trained.of_step(0, 8)
    figures = cached.add_gradient(0)
    assert figures["loss"].item() == pytest.approx(full_graph(whole, spans), rel=1e-5)
    parts = figures["contrast"] + figures["head"] + figures["late"]
    assert figures["loss"].item() == pytest.approx(parts.item(), rel=1e-6), "each loss counts once"
    found, expected = (gradients(*learner.modules.values()) for learner in (cached, whole))
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, expected[name], atol=1e-5, rtol=1e-4, msg=name)


def test_frozen_tokens_are_not_trained(tmp_path, start):
    learner = make_learner(tmp_path, start, model__freeze_tokens="true")
    learner.add_gradient(0)
    found = gradients(learner.modules["network"])
    assert "0.tokens.weight" not in found and "0.blocks.1.up.weight" in found
