import numpy as np
import pytest
import torch
from batches import gradients, loss_fn_of, make_batch, weights_of
from tiny_run import make_run, recipe_of

from trainer.run import parts
from trainer.run.checkpoint import BEST, STATE, RunProgress, load_best, load_state, save_best, save_state
from trainer.run.small_state import from_small, to_small
from trainer.step.gradcache import GradCache


def weights(modules):
    return torch.cat([p.detach().flatten() for module in modules.values() for p in module.parameters()]).clone()


def take_steps(modules, optimizer, n):
    model, head = modules.values()
    batch, losses = make_batch(), []
    for _ in range(n):
        optimizer.zero_grad(set_to_none=True)
        result = GradCache(model, head, 5).step(batch, weights_of(head, batch), loss_fn_of(head, batch))
        assert gradients(model)
        optimizer.step()
        losses.append(result.loss.item())
    return losses


@pytest.mark.parametrize("rate", [1e-3, 3e-5])
@pytest.mark.parametrize(("small", "tolerance"), [(False, 0.0), (True, 0.02)])
def test_a_run_that_resumes_continues_like_one_that_does_not(tmp_path, monkeypatch, small, tolerance, rate):
    monkeypatch.setattr(parts, "PART", 20_000)
    recipe = recipe_of(tmp_path, small=small)
    modules, optimizer = make_run(rate)
    take_steps(modules, optimizer, 2)
    save_state(tmp_path, recipe, RunProgress(step=2), modules, optimizer)
    before = weights(modules)
    assert max(file.stat().st_size for file in tmp_path.iterdir()) <= 20_000
    expected = take_steps(modules, optimizer, 3)
    again, fresh = make_run(rate)
    assert load_state(tmp_path, recipe, again, fresh).step == 2
    found = take_steps(again, fresh, 3)
    np.testing.assert_allclose(found, expected, rtol=tolerance / 20)
    difference, way = weights(again) - weights(modules), weights(modules) - before
    assert difference.norm() <= tolerance * way.norm()


def test_the_state_holds_only_trained_tensors_and_the_small_state_has_two_thirds_of_the_bytes(tmp_path):
    modules, optimizer = make_run()
    take_steps(modules, optimizer, 1)
    sizes = []
    for small in (False, True):
        save_state(tmp_path, recipe_of(tmp_path, small=small), RunProgress(), modules, optimizer)
        state = from_small(torch.load(tmp_path / STATE, weights_only=True))
        names = {name for name, parameter in modules["model"].named_parameters() if parameter.requires_grad}
        assert state["model"].keys() == names and "second_stage.backbone.tokens.weight" not in names
        sizes.append(sum(tensor_bytes(torch.load(tmp_path / STATE, weights_only=True))))
    assert sizes[1] < 0.7 * sizes[0]


@pytest.mark.parametrize(("small", "tolerance"), [(False, 0.0), (True, 1e-3)])
def test_the_best_weights_are_restored_from_parts(tmp_path, monkeypatch, small, tolerance):
    monkeypatch.setattr(parts, "PART", 20_000)
    modules, optimizer = make_run()
    take_steps(modules, optimizer, 1)
    best = weights(modules)
    save_best(tmp_path, recipe_of(tmp_path, small=small), modules)
    assert len(list(tmp_path.glob(f"{BEST}.*"))) > 1
    for parameter in optimizer.param_groups[0]["params"]:
        parameter.data.add_(1.0)
    load_best(tmp_path, modules)
    assert (weights(modules) - best).norm() <= tolerance * best.norm()


def tensor_bytes(state):
    if isinstance(state, torch.Tensor):
        return [state.nbytes]
    values = state.values() if isinstance(state, dict) else state if isinstance(state, list) else []
    return [size for value in values for size in tensor_bytes(value)]


def test_a_second_moment_that_fp16_would_round_to_zero_is_kept():
    moments = {"exp_avg": torch.tensor([1.0, 1e-6]), "exp_avg_sq": torch.tensor([1e4, 1e-13])}
    state = {"state": {0: moments | {"step": torch.tensor(3.0)}}, "param_groups": [{"lr": 0.1}]}
    again = from_small(to_small(state, torch.bfloat16))["state"][0]
    assert again["step"] == 3
    for name, values in moments.items():
        torch.testing.assert_close(again[name], values, rtol=2**-8, atol=0)
