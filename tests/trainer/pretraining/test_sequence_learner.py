import numpy as np
import pytest
import torch

from trainer.data.training_batch import padded
from trainer.pretraining.diffusion import LEAST_SHARE, Noised, add_noise, new_network, sequence_loss
from trainer.pretraining.recipe import NetworkSizes

SIZES = NetworkSizes(n_layers=2, dimension=32, n_heads=4, n_key_value_heads=2, head_dimension=8, inner=48)
ROWS = [np.array([5, 7, 9, 11, 13, 6]), np.array([8, 10, 12, 4])]
MASK = 3


@pytest.fixture(scope="module")
def network():
    return new_network(SIZES, 40, 0).eval()


def test_the_diffusion_loss_at_a_fixed_t_is_the_sum_over_masked_tokens_by_hand(network):
    tokens, t = padded(ROWS), torch.tensor([0.5, 0.25])
    masked = torch.tensor([[True, False, True, True, False, False], [False, True, False, False, False, False]])
    read = torch.where(masked, MASK, tokens.ids)
    expected = 0.0
    for row, ids in enumerate(ROWS):
        alone = read[row : row + 1, : len(ids)]
        states = network.token_states(alone, torch.ones_like(alone), None)
        logits = (states[0] @ network.transformer.embed_tokens.weight.T).detach().numpy().astype(np.float64)
        losses = np.log(np.exp(logits[:-1]).sum(1)) - logits[np.arange(len(ids) - 1), ids[1:]]
        # The first token is masked in the first sequence, and counts in neither the sum nor the length.
        of_masked = losses[masked[row, 1 : len(ids)].numpy()].sum()
        expected += of_masked / t[row].item() / (len(ids) - 1)
    assert sequence_loss(network, tokens, Noised(read, masked, t)).item() == pytest.approx(expected, rel=1e-5)


def test_tokens_are_masked_with_the_probability_of_their_sequence():
    tokens = padded([np.full(5000, 9)] * 20 + [np.full(10, 9)])
    noised = add_noise(tokens, MASK, np.random.default_rng(0))
    assert LEAST_SHARE <= noised.t.min() < 0.2 and 0.8 < noised.t.max() <= 1
    np.testing.assert_allclose(noised.masked[:20].float().mean(1), noised.t[:20], atol=0.03)
    assert (noised.read == MASK).equal(noised.masked) and not noised.masked[20, 10:].any()
