import numpy as np
import pytest
import torch

from trainer.pretraining.span_contrast import contrast_spans


def by_hand(vectors, temperature):
    scores = vectors @ vectors.T / temperature
    losses = []
    for row in range(len(vectors)):
        others = [column for column in range(len(vectors)) if column != row]
        losses.append(-scores[row, row ^ 1] + np.log(np.exp(scores[row, others]).sum()))
    return np.mean(losses)


@pytest.mark.parametrize(("kind", "temperature"), [("product", 1.0), ("product", 0.5), ("cosine", 0.05)])
def test_the_contrast_is_equation_6_of_cocondenser(kind, temperature):
    vectors = np.random.default_rng(0).normal(size=(10, 4))
    compared = vectors / np.linalg.norm(vectors, axis=1, keepdims=True) if kind == "cosine" else vectors
    loss = contrast_spans(torch.tensor(vectors), kind, temperature).loss
    assert loss.item() == pytest.approx(by_hand(compared, temperature), rel=1e-5)


def test_the_accuracy_counts_spans_that_find_the_other_of_their_document():
    vectors = torch.eye(4)[[0, 0, 1, 1, 2, 3]]
    assert contrast_spans(vectors, "cosine", 0.05).accuracy.item() == pytest.approx(4 / 6)
