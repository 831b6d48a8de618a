import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from batches import gradients, judge_of, make_batch, make_student, weights_of
from conftest import TINY

from cdesearch.model.backbone import mean_pool
from trainer.gradcache import GradCache

HERE = Path(__file__).parent


def full_graph(model, head, batch, micro_batch):
    """The same forward passes in the same order, all in one graph."""

    def embed(tokens, network):
        parts = tokens.micro_batches(slice(0, len(tokens)), micro_batch)
        places = torch.cat([places for places, _ in parts])
        return torch.cat([network(part) for _, part in parts])[places.argsort()]

    stage, make_weights = model.second_stage, weights_of(head, batch)
    context = batch.documents.take(batch.context)
    vectors = embed(context, lambda part: model.first_stage(part.ids, part.mask))
    held = None if stage.joint else stage.cache(vectors, batch.is_null)
    weights = make_weights()

    def second_stage(part):
        if held is None:
            states = stage.joint_states(part.ids, part.mask, vectors, batch.is_null)
        else:
            states = stage.states(part.ids, part.mask, *held)
        return mean_pool(states, weights[part.ids] * part.mask)

    pooled = [embed(tokens, second_stage) for tokens in (batch.queries, batch.documents)]
    verdict = judge_of(head, batch)(pooled[0], pooled[1], pooled[1][batch.context])
    verdict.loss.backward()
    return verdict.loss.item(), gradients(model, head)


def cached(model, head, batch, micro_batch, **options):
    verdict = GradCache(model, head, micro_batch, **options).step(batch, weights_of(head, batch), judge_of(head, batch))
    return verdict.loss.item(), gradients(model, head)


def assert_same(one, other):
    assert one[0] == pytest.approx(other[0], abs=1e-5)
    assert one[1].keys() == other[1].keys()
    for name, gradient in one[1].items():
        torch.testing.assert_close(gradient, other[1][name], atol=1e-5, rtol=1e-4, msg=name)


@pytest.mark.parametrize("attention", ["cached", "one_softmax", "joint"])
@pytest.mark.parametrize("first_stage", ["own", "shared"])
@pytest.mark.parametrize(("micro_batch", "dropout"), [(1, 0.0), (5, 0.3), (64, 0.3)])
def test_the_cache_gives_the_full_graphs_gradient(attention, first_stage, micro_batch, dropout):
    config = replace(TINY, context_attention=attention, first_stage=first_stage)
    batch = make_batch()
    results = []
    for run in (full_graph, cached):
        model, head = make_student(config, dropout)
        torch.manual_seed(5)
        results.append(run(model, head, batch, micro_batch))
    assert_same(*results)


def test_a_batch_without_context_trains_the_null_vector_and_not_the_first_stage():
    batch = make_batch()
    batch = replace(batch, is_null=torch.ones_like(batch.is_null))
    model, head = make_student()
    _, found = cached(model, head, batch, 4)
    assert found["0.second_stage.null"].abs().sum() > 0
    assert not any(name.startswith("0.own_first_stage") for name in found)


def test_with_shut_doors_the_gradient_is_the_plain_biencoders_and_the_head_still_learns():
    batch = make_batch()
    results = []
    for run in (full_graph, cached):
        model, head = make_student()
        model.requires_grad_(False)
        model.second_stage.backbone.requires_grad_(True)
        for gate in model.second_stage.gates:
            gate.fill_(0.0)
        results.append(run(model, head, batch, 5))
    assert_same(*results)
    assert results[0][1]["1.shift"] != 0 and not any("doors" in name for name in results[0][1])


def test_a_frozen_first_stage_gets_no_gradient():
    model, head = make_student()
    _, found = cached(model, head, make_batch(), 4, freeze_first_stage=True)
    assert not any(name.startswith("0.own_first_stage") for name in found)


@pytest.mark.parametrize("attention", ["cached", "joint"])
def test_two_processes_find_the_gradient_of_one(attention, tmp_path):
    model, head = make_student(replace(TINY, context_attention=attention))
    alone = cached(model, head, make_batch(), 4)
    environment = os.environ | {"PYTHONPATH": f"{HERE}:{HERE.parent}"}
    processes = [
        subprocess.Popen(
            [sys.executable, HERE / "two_processes.py", str(rank), tmp_path / "store", attention, tmp_path / "out"],
            env=environment,
        )
        for rank in range(2)
    ]
    assert [process.wait(120) for process in processes] == [0, 0]
    for rank in range(2):
        saved = torch.load(tmp_path / f"out.{rank}")
        assert_same(alone, (saved["loss"], saved["gradients"]))


def test_micro_batches_hold_every_text_once_and_no_padding_to_spare():
    tokens = make_batch().documents
    parts = tokens.micro_batches(slice(2, 11), 4)
    assert sorted(torch.cat([places for places, _ in parts]).tolist()) == list(range(9))
    for places, part in parts:
        longest = part.ids.shape[1]
        assert part.mask.sum(1).max() == longest
        torch.testing.assert_close(part.ids, tokens.ids[2:11][places][:, :longest])
