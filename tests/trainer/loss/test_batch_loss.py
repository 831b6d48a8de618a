from dataclasses import replace

import pytest
import torch
from batches import make_batch, make_student
from torch.nn.functional import normalize

from trainer.loss.batch_loss import BatchLoss, contrastive, in_document

N, D = 12, 16


@pytest.mark.parametrize("has_context", [False, True])
@pytest.mark.parametrize("has_siblings", [False, True])
@pytest.mark.parametrize("teacher_weight", [0.0, 0.4])
def test_vectors_are_whitened_then_get_document_context_then_are_compared(has_context, has_siblings, teacher_weight):
    torch.manual_seed(0)
    queries, documents, teacher = torch.randn(N, D), torch.randn(N, D), torch.randn(N, N)
    _, head = make_student()
    batch = replace(make_batch(N), teacher=teacher, siblings=torch.arange(N) // 3 if has_siblings else None)
    context = documents[batch.context] if has_context else None
    loss = BatchLoss(head, document_weight=0.6, temperature=0.05, teacher_weight=teacher_weight)
    found = loss.of(batch, queries, documents, context)

    def finish(pooled):
        return normalize(pooled, dim=-1) if context is None else head.fitted(context)(pooled)

    placed = in_document(finish(documents), batch.siblings, 0.6) if has_siblings else finish(documents)
    expected = contrastive(finish(queries), placed, batch.excluded, 0.05, teacher, teacher_weight)
    torch.testing.assert_close(found.loss, expected.loss)
    assert found.accuracy == expected.accuracy
