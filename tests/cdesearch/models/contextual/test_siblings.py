"""Models in which each chunk of a document reads the tokens of the document's other chunks."""

from dataclasses import replace

import torch
from conftest import TINY, make_model

from cdesearch.models.backbones.packed import pack_texts

SIBLINGS = replace(TINY, context_source="siblings", context_tokens=3, context_sink=True, first_stage="shared")
ALLOWED = torch.tensor([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]], dtype=torch.bool)


def texts():
    ids = torch.randint(4, 100, (4, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    mask[0, 5:] = 0
    return ids, mask


def pooled(model, allowed=ALLOWED):
    ids, mask = texts()
    states = model.context_states(ids, mask, torch.arange(160))
    return model.pooled(ids, mask, mask, model.among_siblings(states, allowed))


@torch.no_grad()
def test_a_chunk_reads_its_siblings_as_if_they_were_the_whole_context():
    model, (ids, mask) = make_model(SIBLINGS), texts()
    found = pooled(model)
    for row in range(3):
        others = ALLOWED[row].nonzero()[:, 0]
        states = model.context_states(ids[others], mask[others], torch.arange(160))
        cached = model.second_stage.cache(states, torch.zeros(2, dtype=torch.bool))
        alone = model.pooled(ids[[row]], mask[[row]], mask[[row]], cached)
        torch.testing.assert_close(found[[row]], alone, atol=1e-5, rtol=0)


@torch.no_grad()
def test_a_chunk_without_siblings_and_a_query_are_embedded_as_by_the_plain_biencoder():
    model, (ids, mask) = make_model(SIBLINGS), texts()
    plain = model.first_stage(ids, mask)
    assert torch.equal(pooled(model)[3], plain[3])
    assert (pooled(model)[:3] - plain[:3]).abs().max() > 1e-3
    is_null = torch.zeros(4, dtype=torch.bool)
    states = model.context_states(ids, mask, torch.arange(160))
    assert model.prepare_context(states, is_null, model.cache(states, is_null)) is None


@torch.no_grad()
def test_with_zero_gates_siblings_change_no_bit():
    model, (ids, mask) = make_model(SIBLINGS, gate=0.0), texts()
    assert torch.equal(pooled(model), model.first_stage(ids, mask))
    stage = model.second_stage
    cached = stage.cache(model.context_states(ids, mask, torch.arange(160)), torch.zeros(4, dtype=torch.bool))
    found = stage.states(ids, mask, *cached, stage.sibling_bias(ALLOWED))
    assert torch.equal(found, stage.backbone(ids, mask))


@torch.no_grad()
def test_packed_chunks_read_their_siblings_as_padded_ones_do():
    model, (ids, mask) = make_model(SIBLINGS), texts()
    states = model.context_states(ids, mask, torch.arange(160))
    context, stage = model.among_siblings(states, ALLOWED), model.second_stage
    packed = stage.packed_states(pack_texts(ids, mask), *context)[0]
    torch.testing.assert_close(packed, stage.states(ids, mask, *context)[mask > 0], atol=1e-5, rtol=0)
