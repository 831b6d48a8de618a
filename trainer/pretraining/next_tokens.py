"""The losses of the kinds `causal` and `diffusion`. Both predict each token from the state before it.

causal       the mean over tokens of the loss to predict the next one
diffusion    tokens are masked with a probability t that is drawn for each sequence, and each masked one is predicted
             from both directions. The loss of a sequence is divided by t (pplx-embed; Nie et al., 2025: LLaDA).
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from trainer.data.training_batch import Tokens
from trainer.pretraining.decoder_network import DecoderNetwork

LEAST_SHARE = 0.001  # of t


class Noised(NamedTuple):
    """Sequences with masked tokens: what is read (n, T), which tokens are masked (n, T), and with which t (n,)."""

    read: Tensor
    masked: Tensor
    t: Tensor


def add_noise(tokens: Tokens, mask: int, random: np.random.Generator) -> Noised:
    """Mask tokens of sequences (n, T) with a probability t, drawn evenly from LEAST_SHARE to 1 for each sequence."""
    t = torch.from_numpy(random.uniform(LEAST_SHARE, 1.0, len(tokens)).astype(np.float32))
    drawn = torch.from_numpy(random.random(tuple(tokens.ids.shape), dtype=np.float32))
    masked = (drawn < t[:, None]) & tokens.mask.bool()
    return Noised(torch.where(masked, mask, tokens.ids), masked, t)


def causal_loss(network: DecoderNetwork, tokens: Tokens) -> Tensor:
    """The sum () of the losses of sequences (n, T), each the mean over its tokens but the first."""
    states = network.states(tokens.ids, tokens.mask, causal=True)
    return _weighted(network, states, tokens, tokens.mask.bool(), torch.ones_like(tokens.ids[:, 0]))


def diffusion_loss(network: DecoderNetwork, tokens: Tokens, noised: Noised) -> Tensor:
    """The sum () of the losses of sequences (n, T): (1 / t) times the sum over masked tokens, over its length less one.

    The first token has none before it, and counts in neither.
    """
    states = network.states(noised.read, tokens.mask, causal=False)
    return _weighted(network, states, tokens, noised.masked, noised.t)


def _weighted(network: DecoderNetwork, states: Tensor, tokens: Tokens, wanted: Tensor, t: Tensor) -> Tensor:
    """The sum over sequences of the losses of their `wanted` tokens, over t and over the length less one."""
    places = wanted[:, 1:]
    losses = functional.cross_entropy(
        network.logits(states[:, :-1][places]), tokens.ids[:, 1:][places], reduction="none"
    )
    weights = 1.0 / (t * (tokens.mask.sum(1) - 1).clamp_min(1))
    return (losses * weights[:, None].expand_as(places)[places]).sum()
