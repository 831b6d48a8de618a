"""Each objective against its formula in NumPy, through the loss of a batch."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from batches import make_batch, make_student
from torch.autograd.functional import jacobian

from trainer.data.pairs.reading import Pair
from trainer.data.training_batch import owners_of
from trainer.loss.batch_loss import SCALE, BatchLoss, quantised
from trainer.recipe import Objective

B, D, WIDTH, T = 7, 11, 16, 0.1


@pytest.fixture
def vectors():
    random = np.random.default_rng(1)
    queries, documents = random.normal(size=(B, WIDTH)), random.normal(size=(D, WIDTH))
    documents[:B] += 0.6 * queries  # so that some own documents are the best and some are not
    return queries.astype(np.float32), documents.astype(np.float32)


@pytest.fixture
def excluded():
    mask = np.random.default_rng(2).random((B, D)) < 0.2
    mask[range(B), range(B)] = False
    return mask


def unit(rows):
    rows = np.asarray(rows, np.float64)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def log_softmax(scores, counted):
    scores = np.where(counted, scores, -np.inf)
    highest = scores.max(axis=1, keepdims=True)
    return scores - highest - np.log(np.exp(scores - highest).sum(axis=1, keepdims=True))


def info_nce(cosines, counted):
    """The mean loss of rows whose own column has the number of the row."""
    return -np.diagonal(log_softmax(cosines / T, counted)).mean()


def loss_of(vectors, excluded, weight=0.0, teacher=None, owners=None, **keys):
    queries, documents = (torch.from_numpy(rows).requires_grad_() for rows in vectors)
    batch = replace(
        make_batch(),
        excluded=torch.from_numpy(excluded),
        teacher=None if teacher is None else torch.from_numpy(teacher),
        owners=owners,
        siblings=None,
    )
    loss = BatchLoss(make_student()[1], 0.0, T, weight, Objective(**keys))
    output = loss.of(batch, queries, documents, None)
    output.loss.backward()
    assert queries.grad.isfinite().all() and documents.grad.isfinite().all() and documents.grad.any()
    return output.loss.item()


@pytest.mark.parametrize("query_negatives", [False, True])
def test_negatives_beyond_the_margin_by_the_models_own_cosines_do_not_count(vectors, excluded, query_negatives):
    queries, documents = map(unit, vectors)
    cosines, mask = queries @ documents.T, excluded
    if query_negatives:
        cosines = np.hstack([cosines, queries @ queries.T])
        mask = np.hstack([mask, mask[:, :B] | np.eye(B, dtype=bool)])
    beyond = cosines > np.diagonal(cosines)[:, None] + 0.1
    assert 0 < (beyond & ~mask).sum() < beyond.size
    found = loss_of(vectors, excluded, margin=0.1, query_negatives=query_negatives)
    assert found == pytest.approx(info_nce(cosines, ~(mask | beyond)), rel=1e-5)


def rounded(vectors, kind):
    vectors = unit(vectors)
    if kind == "none":
        return vectors
    return np.floor(127 * np.tanh(SCALE * vectors) + 0.5) if kind == "int8" else np.where(vectors >= 0, 1.0, -1.0)


@pytest.mark.parametrize("kind", ["none", "int8", "binary"])
@pytest.mark.parametrize("widths", [[], [WIDTH, 4, 8]])
def test_vectors_are_compared_as_rounded_by_the_mean_of_the_losses_of_cut_ones(vectors, excluded, kind, widths):
    queries, documents = (rounded(rows, kind) for rows in vectors)
    parts = [info_nce(unit(queries[:, :n]) @ unit(documents[:, :n]).T, ~excluded) for n in widths or [WIDTH]]
    found = loss_of(vectors, excluded, quantise=kind, matryoshka=widths)
    assert found == pytest.approx(np.mean(parts), rel=2e-3), "values near a half may be rounded otherwise in float32"


@pytest.mark.parametrize("kind", ["int8", "binary"])
def test_the_gradient_passes_straight_through_the_rounding_as_that_of_tanh(vectors, kind):
    """Of y, the rounded vector, the direction y / |y| is returned; x reaches y with the derivative of tanh alone."""
    x = torch.from_numpy(unit(vectors[0])).float()[:1]
    y = torch.from_numpy(rounded(x.numpy(), kind)).float()
    factor = 127.0 if kind == "int8" else 1.0
    of_direction = jacobian(lambda made: made / made.norm(), y[0]).numpy()
    of_tanh = factor * SCALE * (1 - np.tanh(SCALE * x[0].numpy()) ** 2)
    found = jacobian(lambda given: quantised(given[None], kind)[0], x[0]).numpy()
    np.testing.assert_allclose(found, of_direction * of_tanh, atol=1e-5)


@pytest.mark.parametrize(("scope", "query_negatives"), [("batch", False), ("local", False), ("local", True)])
def test_a_local_teacher_knows_the_querys_own_documents_and_the_student_all(vectors, excluded, scope, query_negatives):
    """coCondenser, equations 15 and 16: the sum of T log(T / S), here with half of the weight."""
    pairs = [Pair("q", "d", ("n",) * n) for n in (1, 0, 2, 0, 0, 1, 0)]
    owners = owners_of(pairs)
    assert owners.tolist() == [*range(B), 0, 2, 2, 5]
    logits = np.random.default_rng(3).normal(size=(B, D)).astype(np.float32)
    queries, documents = map(unit, vectors)
    cosines, student_counts = queries @ documents.T, ~excluded
    taught = student_counts if scope == "batch" else student_counts & (owners.numpy() == np.arange(B)[:, None])
    if query_negatives:
        cosines = np.hstack([cosines, queries @ queries.T])
        student_counts = np.hstack([student_counts, student_counts[:, :B] & ~np.eye(B, dtype=bool)])
        logits_of_all = np.hstack([logits, np.zeros((B, B), np.float32)])
        taught = np.hstack([taught, np.zeros((B, B), bool)])
    else:
        logits_of_all = logits
    teacher, student = log_softmax(logits_of_all, taught), log_softmax(cosines / T, student_counts)
    probability = np.where(taught, np.exp(teacher), 0)
    with np.errstate(invalid="ignore"):
        divergence = np.where(taught, probability * (teacher - student), 0).sum(axis=1).mean()
    expected = 0.5 * divergence + 0.5 * info_nce(cosines, student_counts)
    found = loss_of(vectors, excluded, 0.5, logits, owners, teacher_scope=scope, query_negatives=query_negatives)
    assert found == pytest.approx(expected, rel=1e-4)
