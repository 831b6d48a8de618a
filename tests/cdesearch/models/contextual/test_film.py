"""Models whose layers are scaled and shifted by the statistics of a corpus."""

from dataclasses import replace

import torch
from conftest import TINY, make_model

from cdesearch.models.backbones.bert import additive_mask
from cdesearch.models.contextual.model import FoldedNorms

STATISTICS = replace(TINY, context_source="statistics", first_stage="shared")
NOT_NULL = torch.zeros(1, dtype=torch.bool)


def texts():
    ids = torch.randint(4, 100, (3, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    mask[0, 5:] = 0
    return ids, mask


@torch.no_grad()
def test_folded_into_the_layer_norms_film_equals_scale_and_shift_applied_to_each_layer():
    model, (ids, mask), features = make_model(STATISTICS), texts(), torch.randn(1, *STATISTICS.context_shape)
    stage = model.second_stage
    prepared = model.prepare_context(features, NOT_NULL, model.cache(features, NOT_NULL))
    assert isinstance(prepared, FoldedNorms) and prepared.norms.shape == (2, 2, 16)
    rows, film = stage.backbone.embed(ids), stage.film(features[0])
    assert film.abs().max() > 0.01
    for block, (scale, shift) in zip(stage.backbone.blocks, film, strict=True):
        rows = block(rows, additive_mask(mask, rows.dtype)) * (1 + scale) + shift
    found = stage.states(ids, mask, None, None, norms=prepared.norms)
    torch.testing.assert_close(found, rows, atol=1e-5, rtol=0)


@torch.no_grad()
def test_film_that_is_zero_changes_no_bit_and_reads_nothing():
    model, (ids, mask), features = make_model(STATISTICS, gate=0.0), texts(), torch.randn(1, *STATISTICS.context_shape)
    assert model.second_stage.gates_are_zero and not model.reads_context
    assert model.prepare_context(features, NOT_NULL, None) is None
    folded = model.second_stage.folded_norms(features)
    found = model.second_stage.states(ids, mask, None, None, norms=folded)
    assert torch.equal(found, model.second_stage.backbone(ids, mask))


@torch.no_grad()
def test_without_a_corpus_the_model_is_the_plain_biencoder():
    model, (ids, mask) = make_model(STATISTICS), texts()
    assert model.reads_context and model.prepare_context(torch.ones(1, 28), ~NOT_NULL, None) is None
    plain = model.second_stage.backbone(ids, mask)
    torch.testing.assert_close(model.pooled(ids, mask, mask, None), model.first_stage(ids, mask))
    assert plain.shape == (3, 9, 16)
