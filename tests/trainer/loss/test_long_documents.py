"""The losses of the contextual stage of pplx-embed against their formulas in NumPy."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from batches import make_batch, make_student
from hypothesis import given
from hypothesis import strategies as st

from cdesearch.context.document import add_document_context
from cdesearch.context.vectors import to_unit
from trainer.loss.batch_loss import BatchLoss, document_share, in_document
from trainer.recipe import Objective

B, D, WIDTH, T = 6, 9, 16, 0.1
# The queries ask about two chunks of a document, three of another, and one that is no part of a document. Chunk 4
# equals chunk 2. The other texts are hard negatives.
SIBLINGS = np.array([0, 0, 1, 1, 1, 2, 3, 4, 5])
COUNTS = np.array([3, 5, 4, 2, 0, 6, 3, 3, 2])


@pytest.fixture
def vectors():
    random = np.random.default_rng(1)
    queries, chunks = random.normal(size=(B, WIDTH)), random.normal(size=(D, WIDTH))
    chunks[4] = chunks[2]
    chunks[:B] += 0.5 * queries
    chunks[4] = chunks[2]
    return queries.astype(np.float32), chunks.astype(np.float32)


@pytest.fixture
def excluded():
    mask = np.zeros((B, D), bool)
    mask[2, 4] = mask[4, 2] = mask[0, 3] = mask[5, 7] = True
    return mask


def unit(rows):
    rows = np.asarray(rows, np.float64)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True) if rows.size else rows


def info_nce(queries, documents, counted):
    """The mean loss of queries whose own column has their number, one query after the other."""
    losses = []
    for number, row in enumerate(np.exp(unit(queries) @ unit(documents).T / T)):
        assert counted[number][number]
        losses.append(-np.log(row[number] / row[counted[number]].sum()))
    return np.mean(losses)


def whole(chunks):
    """For each chunk, the mean over all tokens of its document, token by token."""
    rows = []
    for number in SIBLINGS:
        tokens = [chunks[at] for at in range(D) if SIBLINGS[at] == number for _ in range(COUNTS[at])]
        rows.append(np.mean(tokens, axis=0))
    return np.array(rows)


def allowed(excluded):
    """Which documents count against a query: all but its own, and those that have an excluded chunk."""
    mask = np.ones((B, D), bool)
    for query in range(B):
        for column in range(D):
            has_excluded = any(excluded[query][at] for at in range(D) if SIBLINGS[at] == SIBLINGS[column])
            mask[query, column] = query == column or (SIBLINGS[query] != SIBLINGS[column] and not has_excluded)
    return mask


def loss_of(vectors, excluded, share=None, document_weight=0.0, **keys):
    queries, chunks = map(torch.from_numpy, vectors)
    batch = replace(
        make_batch(),
        excluded=torch.from_numpy(excluded),
        siblings=torch.from_numpy(SIBLINGS),
        token_counts=torch.from_numpy(COUNTS),
    )
    loss = BatchLoss(make_student()[1], document_weight, T, objective=Objective(contextual=True, **keys))
    return loss.of(batch, queries, chunks, None, share).loss.item()


def test_the_loss_joins_those_within_documents_over_all_chunks_and_over_documents(vectors, excluded):
    queries, chunks = vectors
    counted = ~excluded
    own = SIBLINGS[:B, None] == SIBLINGS
    within, over_all = info_nce(queries, chunks, counted & own), info_nce(queries, chunks, counted)
    documents = info_nce(queries, whole(chunks), allowed(excluded))
    for share in (0.0, 0.3, 1.0):
        local = 0.2 * within + 0.8 * over_all
        found = loss_of(vectors, excluded, share)
        assert found == pytest.approx(share * documents + (1 - share) * local, rel=1e-5)
    assert loss_of(vectors, excluded) == pytest.approx(loss_of(vectors, excluded, 0.5)), "as at the last step"


def test_other_queries_are_negatives_of_the_loss_over_documents_alone(vectors, excluded):
    queries, chunks = vectors
    mask = allowed(excluded)
    counted = np.hstack([mask, mask[:, :B] & ~np.eye(B, dtype=bool)])
    expected = info_nce(queries, np.vstack([whole(chunks), queries]), counted)
    assert loss_of(vectors, excluded, 1.0, query_negatives=True) == pytest.approx(expected, rel=1e-5)
    plain, with_queries = (loss_of(vectors, excluded, 0.0, query_negatives=one) for one in (False, True))
    assert plain == with_queries


def test_document_context_moves_chunks_and_not_documents(vectors, excluded):
    queries, chunks = vectors
    placed = in_document(torch.from_numpy(unit(chunks)), torch.from_numpy(SIBLINGS), 0.6).numpy()
    own = SIBLINGS[:B, None] == SIBLINGS
    local = 0.2 * info_nce(queries, placed, ~excluded & own) + 0.8 * info_nce(queries, placed, ~excluded)
    assert loss_of(vectors, excluded, 0.0, 0.6) == pytest.approx(local, rel=1e-5)
    assert loss_of(vectors, excluded, 1.0, 0.6) == pytest.approx(loss_of(vectors, excluded, 1.0, 0.0))


def test_the_share_of_documents_rises_in_a_half_cosine():
    shares = [document_share(step, 101) for step in range(101)]
    np.testing.assert_allclose(shares, 0.35 - 0.15 * np.cos(np.pi * np.arange(101) / 100), atol=1e-12)
    assert document_share(0, 1) == 0.2 and document_share(7, 5) == 0.5


@given(st.integers(1, 12), st.floats(0, 1), st.integers(0, 1000))
def test_document_context_is_added_as_in_an_index(n, weight, seed):
    random = np.random.default_rng(seed)
    own = to_unit(random.standard_normal((n, 8)).astype(np.float32))
    siblings = random.integers(0, min(n, 3), n)
    placed = in_document(torch.from_numpy(own), torch.from_numpy(siblings), weight).numpy()
    for number in set(siblings.tolist()):
        mine = siblings == number
        np.testing.assert_allclose(placed[mine], to_unit(add_document_context(own[mine], weight)), atol=1e-5)
