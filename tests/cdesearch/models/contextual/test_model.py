from dataclasses import replace

import pytest
import torch
from conftest import TINY, make_model
from torch.nn import functional

from cdesearch.models.backbones.attention import attend
from cdesearch.models.backbones.bert import additive_mask, mean_pool
from cdesearch.models.backbones.packed import pack_texts, packed_mean

D = TINY.backbone.dimension
JOINT = replace(TINY, context_attention="joint")
SINK = replace(TINY, context_sink=True)

NEEDS_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="the kernels are CUDA's")


def inputs(n_texts=3, length=9):
    torch.manual_seed(1)
    ids = torch.randint(4, 100, (n_texts, length))
    mask = torch.ones_like(ids)
    mask[0, 5:] = 0
    return ids, mask, torch.ones(n_texts, length)


def vectors(model, texts, context=None, is_null=None):
    """The unit vectors of texts in a context (J, d), or else in the null one."""
    ids, mask, weights = texts
    if context is None:
        context, is_null = torch.zeros(model.config.null_slots, D), torch.ones(model.config.null_slots, dtype=bool)
    is_null = torch.zeros(len(context), dtype=torch.bool) if is_null is None else is_null
    prepared = model.prepare_context(context, is_null, model.cache(context, is_null))
    return functional.normalize(model.pooled(ids, mask, weights * mask, prepared)[0], dim=-1)


@pytest.mark.parametrize("config", [TINY, SINK])
@torch.no_grad()
def test_cached_keys_equal_the_same_layers_run_with_context_and_text_together(config):
    model, context = make_model(config), torch.randn(7, D)
    ids, mask, weights = inputs()
    stage = model.second_stage
    text = stage.backbone.embed(ids)
    rows = stage.project_context(context, torch.zeros(7, dtype=torch.bool)).expand(len(ids), -1, -1)
    text_mask = (1.0 - mask[:, None, None, :].float()) * torch.finfo(torch.float32).min
    for block, cross in stage.layers:
        q, k, v = block.attention.qkv(text).chunk(3, dim=-1)
        gated = torch.zeros_like(text)
        if cross is not None:
            key, value = cross.key_value(rows).chunk(2, dim=-1)
            if config.context_sink:
                key = torch.cat([key, cross.sink.expand(len(ids), 1, -1)], dim=1)
                value = torch.cat([value, torch.zeros(len(ids), 1, D)], dim=1)
            mixed = attend(q, key, value, cross.n_heads)
            gated = (mixed.unflatten(-1, (cross.n_heads, -1)) * torch.tanh(cross.gate)[:, None]).flatten(2)
        attended = block.attention.out(attend(q, k, v, block.attention.n_heads, text_mask) + gated)
        hidden = block.attention_norm(text + attended)
        text = block.norm(hidden + block.down(functional.gelu(block.up(hidden))))
        rows = block(rows, None)
    uncached = functional.normalize(mean_pool(text, weights * mask), dim=-1)
    torch.testing.assert_close(vectors(model, inputs(), context), uncached, atol=1e-5, rtol=0)


@pytest.mark.parametrize("config", [TINY, SINK])
@torch.no_grad()
def test_with_zero_gates_the_model_is_the_plain_biencoder(config):
    model = make_model(config, gate=0.0)
    ids, mask, _ = inputs()
    plain = functional.normalize(mean_pool(model.second_stage.backbone(ids, mask), mask), dim=-1)
    torch.testing.assert_close(vectors(model, inputs(), torch.randn(12, D)), plain, atol=1e-6, rtol=0)


def test_gates_that_are_zero_get_their_gradient_in_training_and_skip_the_context_otherwise():
    model = make_model(gate=0.0)
    is_null = torch.zeros(12, dtype=torch.bool)
    assert model.cache(torch.randn(12, D), is_null) is None and not model.reads_context
    model.train()
    assert model.reads_context
    vectors(model, inputs(), torch.randn(12, D))[:, 0].sum().backward()
    assert all(gate.grad.abs().sum() > 0 for gate in model.second_stage.gates)
    with torch.no_grad():
        assert not model.reads_context
    for gate in model.second_stage.gates:
        gate.requires_grad_(False)
    assert not model.reads_context and model.cache(torch.randn(12, D), is_null) is None


@pytest.mark.parametrize("config", [TINY, SINK, JOINT])
@torch.no_grad()
def test_the_null_vector_in_all_some_or_no_slots(config):
    model, context = make_model(config), torch.randn(config.context_size, D)
    null = torch.ones(config.context_size, dtype=torch.bool)
    half = torch.arange(config.context_size) % 2 == 0
    everywhere = vectors(model, inputs(), context, null)
    torch.testing.assert_close(everywhere, vectors(model, inputs()), atol=1e-5, rtol=0)
    swapped = torch.where(half[:, None], model.second_stage.null, context)
    torch.testing.assert_close(vectors(model, inputs(), context, half), vectors(model, inputs(), swapped))
    assert (everywhere - vectors(model, inputs(), context, ~null)).abs().max() > 1e-4


@pytest.mark.parametrize("n_layers", [1, 2, 3])
@torch.no_grad()
def test_joint_rows_computed_once_are_those_of_every_layer_run_on_all_rows(n_layers):
    model = make_model(replace(JOINT, backbone=replace(JOINT.backbone, n_layers=n_layers)))
    stage, context, (ids, mask, _) = model.second_stage, torch.randn(12, D), inputs()
    null = torch.arange(12) == 3
    rows = stage.project_context(context, null).expand(len(ids), -1, -1)
    rows = torch.cat([rows, stage.backbone.embed(ids)], dim=1)
    mask_of_all = additive_mask(torch.cat([mask.new_ones(len(ids), 12), mask], dim=1), rows.dtype)
    for block, _ in stage.layers:
        rows = block(rows, mask_of_all)
    found = stage.states_after(ids, mask, stage.context_prefix(context, null))
    torch.testing.assert_close(found[mask > 0], rows[:, 12:][mask > 0], atol=1e-5, rtol=0)


@pytest.mark.parametrize("config", [TINY, SINK])
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=NEEDS_CUDA)])
def test_packed_texts_have_the_vectors_of_padded_ones(device, config):
    dtype, tolerance = (torch.float32, 1e-5) if device == "cpu" else (torch.bfloat16, 3e-2)
    stage = make_model(config).second_stage.to(device, dtype)
    ids, mask, weights = (value.to(device) for value in inputs())
    with torch.no_grad():
        context = torch.randn(7, D, device=device, dtype=dtype)
        keys, values = stage.cache(context, torch.zeros(7, dtype=bool, device=device))
    packing = pack_texts(ids, mask)
    padded = mean_pool(stage.states(ids, mask, keys, values), weights * mask)
    packed = packed_mean(stage.packed_states(packing, keys, values), weights[mask.bool()].to(dtype), packing)
    torch.testing.assert_close(packed, padded, atol=tolerance, rtol=0)
    wanted, found = (
        torch.autograd.grad(x.square().sum(), stage.parameters(), allow_unused=True) for x in (padded, packed)
    )
    for one, other in zip(wanted, found, strict=True):
        if one is not None:
            torch.testing.assert_close(other, one, atol=10 * tolerance, rtol=1e-3 if device == "cpu" else 0.1)
