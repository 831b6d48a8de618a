from dataclasses import replace

import pytest
import torch
from batches import VARIANTS, gradients, loss_fn_of, make_batch, make_student, weights_of
from conftest import TINY

from cdesearch.models.backbones import attention
from cdesearch.models.backbones.bert import mean_pool
from cdesearch.models.backbones.packed import pack_texts
from cdesearch.models.contextual.second_stage import SecondStage
from trainer.loss.batch_loss import contrastive
from trainer.step import cached_pass, gradcache
from trainer.step.gradcache import GradCache


def full_graph(model, head, batch, micro_batch):
    """The same forward passes in the same order, all in one graph."""

    def embed(tokens, network):
        parts = tokens.micro_batches(micro_batch)
        order = torch.cat([indices for indices, _ in parts])
        return torch.cat([network(part) for _, part in parts])[order.argsort()]

    stage, make_weights = model.second_stage, weights_of(head, batch)
    vectors = embed(batch.context_texts, lambda part: model.first_stage(part.ids, part.mask))
    cached = None if stage.joint else stage.cache(vectors, batch.is_null)
    weights = make_weights()

    def second_stage(part):
        if stage.joint:
            states = stage.states_after(part.ids, part.mask, stage.context_prefix(vectors, batch.is_null))
        else:
            states = stage.states(part.ids, part.mask, *cached)
        return mean_pool(states, weights[part.ids] * part.mask)

    pooled = [embed(tokens, second_stage) for tokens in (batch.queries, batch.documents)]
    output = loss_fn_of(head, batch)(*pooled, pooled[1][batch.context])
    output.loss.backward()
    return output.loss.item(), gradients(model, head)


def cached(model, head, batch, micro_batch, **options):
    output = GradCache(model, head, micro_batch, **options).step(
        batch, weights_of(head, batch), loss_fn_of(head, batch)
    )
    return output.loss.item(), gradients(model, head)


def by_both(config, batch):
    """The results of the full graph and of the cache for equal models."""
    return [run(*make_student(config), batch, 5) for run in (full_graph, cached)]


def assert_same(one, other, atol=1e-5, rtol=1e-4):
    assert one[0] == pytest.approx(other[0], abs=atol)
    assert one[1].keys() == other[1].keys()
    for name, gradient in one[1].items():
        torch.testing.assert_close(gradient, other[1][name], atol=atol, rtol=rtol, msg=name)


SHAPES = [(variant, first_stage) for variant in VARIANTS for first_stage in ("own", "shared")]


@pytest.mark.parametrize(("variant", "first_stage"), SHAPES)
@pytest.mark.parametrize(("micro_batch", "dropout"), [(1, 0.0), (5, 0.3), (64, 0.3)])
def test_the_cache_gives_the_full_graphs_gradient(variant, first_stage, micro_batch, dropout):
    config = replace(VARIANTS[variant], first_stage=first_stage)
    batch = make_batch()
    results, states = [], []
    for run in (full_graph, cached):
        model, head = make_student(config, dropout)
        torch.manual_seed(5)
        results.append(run(model, head, batch, micro_batch))
        states.append(torch.get_rng_state())
    assert_same(*results)
    assert torch.equal(*states), "after the step, random numbers are the same"


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n_context", [4, 15])
def test_a_context_disjoint_from_the_batch_has_the_full_graphs_gradient(variant, n_context):
    other = make_batch(n_context).queries
    batch = replace(make_batch(), context_tokens=other, is_null=torch.arange(n_context) == 1)
    results = by_both(VARIANTS[variant], batch)
    assert_same(*results)
    assert cached(*make_student(VARIANTS[variant]), make_batch(), 5)[0] != pytest.approx(results[1][0], abs=1e-4)


def test_a_frozen_first_stage_gets_no_gradient_and_keeps_no_graph():
    model, head = make_student()
    has_graph = []
    model.own_first_stage.register_forward_hook(lambda _m, _in, out: has_graph.append(out.requires_grad))
    model.own_first_stage.requires_grad_(False)
    _, found = cached(model, head, make_batch(), 4)
    assert not any(name.startswith("0.own_first_stage") for name in found)
    assert has_graph == [False] * 3, "10 texts in micro-batches of 4, each run once"


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("attention", ["cached", "joint"])
def test_both_stages_and_the_context_pass_run_in_the_given_precision(attention, precision):
    model, head = make_student(replace(TINY, context_attention=attention))
    seen = {}
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_hook(lambda _m, _in, out, name=name: seen.setdefault(name, set()).add(out.dtype))
    cached(model, head, make_batch(), 5, precision=precision)
    assert {name.split(".")[0] for name in seen} == {"own_first_stage", "second_stage"}
    assert any("context_projection" in name for name in seen)
    assert set.union(*seen.values()) == {precision}


@pytest.mark.parametrize(("variant", "first_stage"), [shape for shape in SHAPES if shape[0] != "joint"])
def test_packed_texts_give_the_gradient_of_padded_ones(variant, first_stage, monkeypatch):
    """Without a kernel for it, packed attention runs text by text, on any machine."""

    def run(kernel):
        tensors, positions, packed = [], [], []
        monkeypatch.setattr(gradcache, "has_kernel", lambda tensor: tensors.append(tensor) or kernel)
        monkeypatch.setattr(
            cached_pass, "pack_texts", lambda ids, mask: packed.append(len(ids)) or pack_texts(ids, mask)
        )
        model, head = make_student(replace(VARIANTS[variant], first_stage=first_stage))
        embed = model.second_stage.backbone.embed
        model.second_stage.backbone.embed = lambda ids, places=None: positions.append(places) or embed(ids, places)
        result = cached(model, head, make_batch(), 5)
        assert [(tensor.dtype, tensor.device.type) for tensor in tensors] == [(torch.float32, "cpu")]
        assert any(places is not None for places in positions) == kernel
        assert sum(packed) == (12 + 12 + 10) * kernel, "queries, documents and context"
        return result

    assert_same(run(kernel=False), run(kernel=True))


def test_texts_that_see_the_context_in_their_own_rows_are_never_packed(monkeypatch):
    monkeypatch.setattr(gradcache, "has_kernel", lambda _: True)
    assert_same(*by_both(VARIANTS["joint"], make_batch()))


@pytest.mark.parametrize("variant", VARIANTS)
def test_attention_by_matrix_products_gives_the_gradient_of_flash_attention(variant, monkeypatch):
    """Processors with tiles for bf16 take the matrix products, here in fp32 to compare them exactly."""
    real, results = attention.attend_by_matrices, []
    for by_matrices in (False, True):
        calls = []
        if by_matrices:
            monkeypatch.setattr(attention, "_multiplies_faster", lambda _: torch.is_grad_enabled())
        monkeypatch.setattr(
            attention, "attend_by_matrices", lambda *given, calls=calls: calls.append(1) or real(*given)
        )
        model, head = make_student(VARIANTS[variant])
        results.append(cached(model, head, make_batch(), 5))
        assert bool(calls) == by_matrices
    assert_same(*results)


@pytest.mark.parametrize("why", ["null context", "zero gates"])
def test_the_first_stage_does_not_run_if_nothing_reads_it(why):
    batch, (model, head) = make_batch(), make_student()
    calls = []
    model.own_first_stage.register_forward_hook(lambda *_: calls.append("first stage"))
    if why == "null context":
        batch = replace(batch, is_null=torch.ones_like(batch.is_null))
    else:
        for gate in model.second_stage.gates:
            gate.requires_grad_(False).fill_(0.0)
    cached(model, head, batch, 5)
    assert calls == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_batch_without_context_has_the_full_graphs_gradient(variant):
    batch = make_batch()
    batch = replace(batch, is_null=torch.ones_like(batch.is_null))
    results = []
    for loss, found in by_both(VARIANTS[variant], batch):
        results.append((loss, {name: part for name, part in found.items() if "own_first_stage" not in name}))
    assert_same(*results)


def test_averaged_gradients_are_zero_for_parameters_that_the_batch_does_not_use():
    batch, (model, head) = make_batch(), make_student()
    batch = replace(batch, is_null=torch.ones_like(batch.is_null))
    model.second_stage.backbone.requires_grad_(False)
    cache = GradCache(model, head, 5)
    cache.step(batch, weights_of(head, batch), loss_fn_of(head, batch))
    before = gradients(model, head)
    cache.average_gradients()
    after = gradients(model, head)
    learning = {
        f"{number}.{name}": parameter
        for number, module in enumerate((model, head))
        for name, parameter in module.named_parameters()
        if parameter.requires_grad
    }
    assert after.keys() == learning.keys() > before.keys()
    for name, parameter in learning.items():
        torch.testing.assert_close(after[name], before.get(name, torch.zeros_like(parameter)))


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["cached", "joint"])
@pytest.mark.parametrize("is_null", [False, True])
def test_everything_stays_on_the_device_of_the_model(variant, is_null, monkeypatch):
    """The meta device stores no numbers, and like a GPU it does not accept tensors of another device."""
    tensors = []
    monkeypatch.setattr(SecondStage, "gates_are_zero", False)  # this asks for numbers
    monkeypatch.setattr(gradcache, "has_kernel", lambda tensor: tensors.append(tensor.device.type) or False)
    model, head = (module.to("meta") for module in make_student(VARIANTS[variant]))
    batch = make_batch()
    batch = replace(batch, is_null=batch.is_null | is_null)
    excluded = batch.excluded.to("meta")

    def loss_fn(queries, documents, context):
        assert {part.device.type for part in (queries, documents, context)} == {"meta"}
        return contrastive(queries, documents, excluded, 0.05)

    GradCache(model, head, 5).step(batch, lambda: torch.ones(TINY.backbone.vocabulary, device="meta"), loss_fn)
    assert tensors == ["meta"] * (variant != "joint")
    found = [parameter.grad for parameter in model.second_stage.parameters()]
    assert {gradient.device.type for gradient in found if gradient is not None} == {"meta"}
    if model.own_first_stage is not None:
        assert not any(gradient is None for gradient in found)
        assert all((parameter.grad is None) == is_null for parameter in model.own_first_stage.parameters())
