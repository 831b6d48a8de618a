"""Each objective against its formula in NumPy, through the loss of a batch."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from batches import make_batch, make_student

from trainer.data.pairs.reading import Pair
from trainer.data.training_batch import owners_of
from trainer.loss.batch_loss import BatchLoss
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


def test_other_queries_are_negatives_unless_their_documents_are_excluded(vectors, excluded):
    queries, documents = map(unit, vectors)
    cosines = np.hstack([queries @ documents.T, queries @ queries.T])
    counted = ~np.hstack([excluded, excluded[:, :B] | np.eye(B, dtype=bool)])
    found = loss_of(vectors, excluded, query_negatives=True)
    assert found == pytest.approx(info_nce(cosines, counted), rel=1e-5)
    assert found > loss_of(vectors, excluded)


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
