"""Models that read the states of the rarest tokens of each text of the context, layer by layer."""

from dataclasses import replace

import pytest
import torch
from conftest import TINY, make_checkpoint, make_model
from torch.nn import functional

from cdesearch.models.backbones.attention import ContextAttention, attend
from cdesearch.models.backbones.bert import additive_mask
from cdesearch.models.backbones.packed import pack_texts
from cdesearch.models.contextual import model as contextual
from cdesearch.models.contextual.merge import merge_rows
from cdesearch.models.contextual.model import load_checkpoint
from cdesearch.models.contextual.token_states import rarest_tokens

D, HEADS = TINY.backbone.dimension, TINY.backbone.n_heads
TOKENS = replace(TINY, context_source="tokens", context_tokens=3, context_sink=True, first_stage="shared")
DEEP = replace(TOKENS, backbone=replace(TINY.backbone, n_layers=4))


def texts(n=5, length=9, seed=1):
    ids = torch.randint(4, 100, (n, length), generator=torch.Generator().manual_seed(seed))
    mask = torch.ones_like(ids)
    mask[0, 5:] = 0
    return ids, mask


def states_of(model, n=5, seed=1):
    return model.context_states(*texts(n, seed=seed), torch.arange(160))


def full(n):
    return torch.zeros(n, dtype=torch.bool)


def test_the_rarest_tokens_are_chosen_each_once_and_never_padding():
    ids = torch.tensor([[2, 9, 7, 9, 8, 3, 0, 0], [2, 8, 3, 0, 0, 0, 0, 0]])
    mask = (ids > 0).long()
    frequencies = torch.zeros(160, dtype=torch.long)
    frequencies[[2, 3, 7, 8]] = torch.tensor([10, 10, 2, 5])  # 9 occurs in no document
    assert rarest_tokens(ids, mask, frequencies, 3).tolist() == [[1, 2, 4], [1, 2, 0]]
    # Of tokens that are equally rare, the one with the higher id comes first.
    assert rarest_tokens(ids, mask, torch.ones(160), 2).tolist() == [[1, 4], [1, 2]]
    # A text with fewer tokens than are wanted repeats its first one.
    assert rarest_tokens(ids[:, :2], mask[:, :2], frequencies, 4).tolist() == [[1, 0, 0, 0], [1, 0, 0, 0]]


@torch.no_grad()
def test_a_context_state_is_that_of_the_token_as_it_enters_the_layer():
    model = make_model(DEEP)
    ids, mask = texts()
    at = rarest_tokens(ids, mask, torch.arange(160), 3)
    rows, found = model.second_stage.backbone.embed(ids), model.context_states(ids, mask, torch.arange(160))
    assert found.shape == (5, *DEEP.context_shape) == (5, 3, 3, D)
    for layer, block in enumerate(model.second_stage.backbone.blocks):
        if layer >= 1:
            torch.testing.assert_close(found[:, layer - 1], rows[torch.arange(5)[:, None], at])
        rows = block(rows, additive_mask(mask, rows.dtype))


@torch.no_grad()
def test_cached_rows_are_those_of_the_layers_own_projections_computed_with_the_text():
    model, (ids, mask) = make_model(DEEP), texts(4, seed=2)
    stage, context = model.second_stage, states_of(model)
    context = torch.where(torch.tensor([0, 1, 0, 0, 0], dtype=torch.bool)[:, None, None, None], stage.null, context)
    text, text_mask = stage.backbone.embed(ids), additive_mask(mask, torch.float32)
    for number, (block, cross) in enumerate(stage.layers):
        q, k, v = block.attention.qkv(text).chunk(3, dim=-1)
        attended = attend(q, k, v, HEADS, text_mask)
        if cross is not None:
            rows = context[:, number - 1].flatten(0, 1)
            _, key, value = block.attention.qkv(rows).chunk(3, dim=-1)
            key, value = torch.cat([key, cross.sink[None]]), torch.cat([value, torch.zeros(1, D)])
            read = attend(q, key.expand(4, -1, -1), value.expand(4, -1, -1), HEADS)
            attended += (read.unflatten(-1, (HEADS, -1)) * torch.tanh(cross.gate)[:, None]).flatten(2)
        hidden = block.attention_norm(text + block.attention.out(attended))
        text = block.norm(hidden + block.down(functional.gelu(block.up(hidden))))
    is_null = torch.arange(5) == 1
    found = stage.states(ids, mask, *model.cache(states_of(model), is_null))
    torch.testing.assert_close(found[mask > 0], text[mask > 0], atol=1e-5, rtol=0)


@torch.no_grad()
def test_with_zero_gates_token_context_changes_no_bit():
    model, (ids, mask) = make_model(DEEP, gate=0.0), texts()
    stage = model.second_stage
    found = stage.states(ids, mask, *stage.cache(states_of(model), full(5)))
    assert torch.equal(found, stage.backbone(ids, mask))
    assert model.cache(states_of(model), full(5)) is None, "nothing reads it"


@torch.no_grad()
def test_the_order_of_the_texts_does_not_matter_and_their_contents_do():
    model, (ids, mask) = make_model(DEEP), texts(4, seed=2)
    one, other = states_of(model), states_of(model, seed=7)

    def vectors(context):
        return model.pooled(ids, mask, mask, model.prepare_context(context, full(5), model.cache(context, full(5))))

    torch.testing.assert_close(vectors(one), vectors(one.flip(0)), atol=1e-5, rtol=0)
    assert (vectors(one) - vectors(other)).abs().max() > 1e-3


def test_packed_texts_read_token_context_as_padded_ones_do():
    model, (ids, mask) = make_model(DEEP), texts(4, seed=2)
    stage = model.second_stage
    cached = model.cache(states_of(model), full(5))
    packed = stage.packed_states(pack_texts(ids, mask), *cached)[0]
    torch.testing.assert_close(packed, stage.states(ids, mask, *cached)[mask > 0], atol=1e-5, rtol=0)


def read(keys, values, bias=None):
    """What two texts read in each of three layers."""
    torch.manual_seed(3)
    queries, cross = torch.randn(2, 6, D), ContextAttention(D, HEADS, sink=True, own_projections=False)
    cross.set_weight(0.5)
    layers = zip(keys, values, [None] * 3 if bias is None else bias, strict=True)
    return torch.stack([cross(queries, *layer) for layer in layers])


@pytest.mark.parametrize(("n_different", "copies"), [(20, 1), (20, 4), (13, 9), (1, 30)])
@torch.no_grad()
def test_merging_is_exact_if_no_different_rows_have_to_be_merged(n_different, copies):
    torch.manual_seed(4)
    keys, values = torch.randn(2, 3, n_different, D)
    order = torch.randperm(n_different * copies)
    many = [rows.repeat(1, copies, 1)[:, order] for rows in (keys, values)]
    merged = merge_rows(*many, HEADS, 20)
    assert [rows.shape for rows in merged] == [(3, 20, D), (3, 20, D), (3, HEADS, 1, 20)]
    torch.testing.assert_close(read(*merged), read(*many), atol=1e-5, rtol=0)
    assert merged[2].exp().sum(-1).round().eq(n_different * copies).all()


@torch.no_grad()
def test_more_merged_rows_represent_the_whole_context_better():
    torch.manual_seed(4)
    keys, values = torch.randn(2, 3, 300, D)
    exact = read(keys, values)
    errors = [(read(*merge_rows(keys, values, HEADS, n)) - exact).norm() for n in (4, 32, 128, 300)]
    assert errors == sorted(errors, reverse=True) and errors[-1] < 1e-4 * exact.norm()


@torch.no_grad()
def test_a_large_context_is_merged_when_it_is_prepared(monkeypatch):
    model, (ids, mask) = make_model(DEEP), texts(4, seed=2)
    context = states_of(model).repeat(2, 1, 1, 1)  # 30 rows, 15 of them different
    cached = model.cache(context, full(10))
    exact = model.pooled(ids, mask, mask, model.prepare_context(context, full(10), cached))
    monkeypatch.setattr(contextual, "MERGED_ROWS", 16)
    prepared = model.prepare_context(context, full(10), cached)
    assert prepared[0].shape == (3, 16, D)
    torch.testing.assert_close(model.pooled(ids, mask, mask, prepared), exact, atol=1e-5, rtol=0)


def test_a_checkpoint_with_token_context_runs_on_torch_alone(tmp_path):
    folder = make_checkpoint(tmp_path / "tokens", TOKENS)
    assert not (folder / "onnx").exists()
    model = load_checkpoint(folder)
    assert model.config.context_source == "tokens" and model.reads_context
    assert not any("key_value" in name or "context_norm" in name for name in model.state_dict())
