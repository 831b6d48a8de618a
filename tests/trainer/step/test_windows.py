"""The gradient cache over windows of documents, for models that read chunks together."""

from dataclasses import replace

import pytest
import torch
from batches import PLACES, WINDOWED, gradients, make_student, make_window_batch, weights_of

from cdesearch.encode.length_batches import split_windows
from trainer.loss.batch_loss import BatchLoss
from trainer.recipe import Objective
from trainer.step.gradcache import GradCache


def loss_of(head):
    objective = Objective(contextual=True, query_negatives=True, margin=0.1)
    return BatchLoss(head, 0.6, 0.05, objective=objective)


def pooled_one_by_one(model, batch, weights, keys, values):
    """(D, d) of the documents: their windows, found anew, go through the second stage one at a time without padding."""
    stage, lengths = model.second_stage, batch.documents.mask.sum(1).tolist()
    vectors = {}
    for number in range(4):
        own = sorted((row for row in range(11) if batch.siblings[row] == number), key=lambda row: PLACES[row])
        for window in split_windows([lengths[row] for row in own], WINDOWED.window_tokens, 0):
            rows = [own[at] for at in window]
            ids = torch.cat([batch.documents.ids[row, : lengths[row]] for row in rows])
            states, start = stage.states(ids[None], None, keys, values)[0], 0
            for row in rows:
                part = slice(start, start + lengths[row])
                share = weights[ids[part]] / weights[ids[part]].sum()
                vectors[row] = share @ states[part]
                start = part.stop
    vectors[11] = vectors[9]
    return torch.stack([vectors[row] for row in range(12)])


def full_graph(model, head, batch):
    """The loss and its gradient from one graph, in which every text and every window is computed alone."""
    weights = weights_of(head, batch)()
    context = texts_of(batch.context_texts)
    vectors = torch.cat([model.first_stage(ids[None], torch.ones(1, len(ids))) for ids in context])
    keys, values = model.second_stage.cache(vectors, batch.is_null)
    queries = []
    for own in texts_of(batch.queries):
        states = model.second_stage.states(own[None], None, keys, values)[0]
        queries.append((weights[own] / weights[own].sum()) @ states)
    documents = pooled_one_by_one(model, batch, weights, keys, values)
    output = loss_of(head).of(batch, torch.stack(queries), documents, documents[batch.context], 0.3)
    output.loss.backward()
    return output.loss.item(), gradients(model, head)


def texts_of(tokens):
    return [ids[: int(mask.sum())] for ids, mask in zip(tokens.ids, tokens.mask, strict=True)]


def cached(model, head, batch, micro_batch):
    loss, cache = loss_of(head), GradCache(model, head, micro_batch)
    output = cache.step(batch, weights_of(head, batch), lambda *pooled: loss.of(batch, *pooled, 0.3))
    return output.loss.item(), gradients(model, head)


@pytest.mark.parametrize("first_stage", ["own", "shared"])
@pytest.mark.parametrize("micro_batch", [1, 5, 64])
def test_the_cache_over_windows_gives_the_full_graphs_gradient(first_stage, micro_batch):
    batch, config = make_window_batch(), replace(WINDOWED, first_stage=first_stage)
    loss, expected = full_graph(*make_student(config), batch)
    found_loss, found = cached(*make_student(config), batch, micro_batch)
    assert found_loss == pytest.approx(loss, abs=1e-5) and found.keys() == expected.keys()
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, expected[name], atol=1e-5, rtol=1e-4, msg=name)
