import pytest
import torch
from torch.nn import functional

from trainer.loss.batch_loss import contrastive

B, D, WIDTH = 7, 9, 5


def unit_vectors(n, seed, dtype=torch.float32):
    vectors = torch.randn(n, WIDTH, generator=torch.Generator().manual_seed(seed))
    return functional.normalize(vectors, dim=-1).to(dtype)


def excluded_and_teacher(n=B, n_documents=D):
    random = torch.Generator().manual_seed(2)
    excluded = torch.rand(n, n_documents, generator=random) < 0.2
    excluded[range(n), range(n)] = False
    return excluded, 3 * torch.randn(n, n_documents, generator=random)


def by_the_formula(queries, documents, excluded, temperature, teacher=None, weight=0.0):
    """Mean loss and accuracy, one query at a time in double precision; excluded documents are left out of every sum."""
    losses, hits = [], []
    for i, query in enumerate(queries.double()):
        left = [j for j in range(len(documents)) if not excluded[i, j]]
        scores = torch.stack([(query * documents[j].double()).sum() / temperature for j in left])
        student = scores - torch.logsumexp(scores, 0)
        one = -student[left.index(i)]
        if teacher is not None:
            logits = teacher[i, left].double()
            soft = logits - torch.logsumexp(logits, 0)
            one = (1 - weight) * one + weight * (soft.exp() * (soft - student)).sum()
        losses.append(one)
        hits.append(left[int(scores.argmax())] == i)
    return torch.stack(losses).mean(), sum(hits) / len(hits)


@pytest.mark.parametrize(("taught", "weight"), [(False, 0.0), (True, 0.3), (True, 1.0)])
@pytest.mark.parametrize("scale", [1.0, -2.5])
def test_loss_gradient_and_accuracy_are_those_of_the_formula(taught, weight, scale):
    excluded, teacher = excluded_and_teacher()
    given = {"teacher": teacher, "teacher_weight": weight} if taught else {}
    found = [unit_vectors(n, seed).requires_grad_() for n, seed in ((B, 0), (D, 1))]
    expected = [vectors.detach().clone().requires_grad_() for vectors in found]
    output = contrastive(*found, excluded, 0.1, **given)
    (scale * output.loss).backward()
    formula, accuracy = by_the_formula(*expected, excluded, 0.1, teacher if taught else None, weight)
    (scale * formula).backward()
    torch.testing.assert_close(output.loss.double(), formula, rtol=1e-5, atol=1e-6)
    assert output.loss.shape == output.accuracy.shape == ()
    assert float(output.accuracy) == pytest.approx(accuracy) and 0 < accuracy < 1
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-5)


def test_the_loss_of_half_precision_is_computed_in_single_precision():
    excluded, _ = excluded_and_teacher()
    halves = [unit_vectors(n, seed, torch.bfloat16).requires_grad_() for n, seed in ((B, 0), (D, 1))]
    output = contrastive(*halves, excluded, 0.1)
    assert output.loss.dtype == torch.float32
    formula, _ = by_the_formula(*halves, excluded, 0.1)
    torch.testing.assert_close(output.loss.double(), formula, rtol=1e-5, atol=1e-5)
    output.loss.backward()
    assert [half.grad.dtype for half in halves] == [torch.bfloat16] * 2
