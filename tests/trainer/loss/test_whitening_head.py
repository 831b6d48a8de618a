import numpy as np
import torch

from cdesearch.context.token_weights import TokenFrequencies, idf_weights
from cdesearch.context.whitening import soft_whitening
from cdesearch.models.config import StatisticsConfig
from trainer.data.training_batch import padded
from trainer.loss.heads import WhiteningHead, document_frequencies


def test_the_learning_head_is_the_head_of_inference():
    random = np.random.default_rng(0)
    context = random.standard_normal((40, 8)).astype(np.float32)
    config = StatisticsConfig()
    unit = context / np.linalg.norm(context, axis=1, keepdims=True)
    fitted = soft_whitening(unit, config)
    shift, projection = fitted.shift, fitted.projection
    expected = (unit - shift) @ projection
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    head = WhiteningHead(config)
    found = head.fitted(torch.tensor(context))(torch.tensor(context))
    np.testing.assert_allclose(found.detach(), expected, atol=1e-5)
    found[:, 0].sum().backward()
    assert all(parameter.grad is not None for parameter in (head.shift, head.log_ridge, head.power))
    counts = random.integers(0, 30, 50)
    special = np.array([1, 2])
    weights = head.token_weights(torch.tensor(counts).float(), 40, torch.tensor(special))
    plain = idf_weights(TokenFrequencies(counts, 40), special, config.idf_exponent)
    np.testing.assert_allclose(weights.detach(), plain, rtol=1e-5)


def test_a_token_counts_once_a_document():
    rows = [np.array(row) for row in ([5, 7, 5, 5], [7], [3, 9, 7])]
    expected = [sum(token in row for row in rows) for token in range(11)]
    assert document_frequencies(padded(rows), 11).tolist() == expected
