from dataclasses import replace

import numpy as np
import pytest
import torch
from batches import make_student
from conftest import TINY

from trainer.step.optimizer import DECAY, clip_by_group, linear, make_optimizer, parameter_groups


def norm(parameters):
    return torch.stack([parameter.grad.norm() for parameter in parameters if parameter.grad is not None]).norm().item()


def test_every_trained_parameter_is_in_one_group():
    for config in (TINY, replace(TINY, first_stage="shared"), replace(TINY, context_attention="joint")):
        model, head = make_student(config)
        model.second_stage.backbone.tokens.requires_grad_(False)
        groups = parameter_groups(model, head)
        names = {id(parameter): name for name, parameter in [*model.named_parameters(), *head.named_parameters()]}
        found = [id(parameter) for parameters in groups.values() for parameter in parameters]
        trained = [p for p in [*model.parameters(), *head.parameters()] if p.requires_grad]
        assert sorted(found) == sorted(map(id, trained))
        by_group = {group: {names[id(parameter)] for parameter in parameters} for group, parameters in groups.items()}
        assert by_group["head"] == {"shift", "log_ridge", "power", "idf_exponent"}
        assert "second_stage.null" in by_group["context"]
        assert "second_stage.context_norm.bias" in by_group["context"]
        assert all("backbone" in name or "own_first_stage" in name for name in by_group["backbone"])
        if config.context_attention == "cached":
            assert by_group["gates"] == {"second_stage.doors.0.gate"}
            assert "second_stage.doors.0.key_value.weight" in by_group["context"]
        else:
            assert "gates" not in by_group


def test_each_group_has_its_rate_and_matrices_alone_decay():
    model, head = make_student()
    rates = {"backbone": 1.0, "context": 2.0, "gates": 3.0, "head": 4.0}
    optimizer = make_optimizer(parameter_groups(model, head), rates)
    found = {id(p): (group["peak"], group["weight_decay"]) for group in optimizer.param_groups for p in group["params"]}
    stage = model.second_stage
    assert found[id(stage.backbone.blocks[0].up.weight)] == (1.0, DECAY)
    assert found[id(stage.backbone.blocks[0].up.bias)] == (1.0, 0.0)
    assert found[id(stage.doors[0].key_value.weight)] == (2.0, DECAY)
    assert found[id(stage.null)] == (2.0, 0.0)
    assert found[id(stage.doors[0].gate)] == (3.0, 0.0)
    assert found[id(head.power)] == (4.0, 0.0)


def test_a_huge_gradient_in_one_group_leaves_the_others_as_they_are():
    model, head = make_student()
    groups = parameter_groups(model, head)
    for parameters in groups.values():
        for parameter in parameters:
            parameter.grad = torch.full_like(parameter, 1e-4)
    before = {name: norm(parameters) for name, parameters in groups.items()}
    model.second_stage.null.grad.fill_(1e4)
    norms = {name: value.item() for name, value in clip_by_group(groups).items()}
    assert norms["context"] > 1e4
    assert norm(groups["context"]) == pytest.approx(1.0, rel=1e-4)
    for name in ("backbone", "gates", "head"):
        assert norm(groups[name]) == pytest.approx(before[name]) and norms[name] == pytest.approx(before[name])


def test_rates_rise_to_their_peak_and_fall_to_zero_in_lines():
    expected = np.interp(np.arange(10), [-1, 3, 4, 10], [0, 1, 1, 0])
    np.testing.assert_allclose([linear(step, 10, 4) for step in range(10)], expected)
