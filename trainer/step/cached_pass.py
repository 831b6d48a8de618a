"""One network over the texts of a batch, in the memory of a micro-batch (gradient cache: Gao et al., 2021).

    made = CachedPass(network, texts, passing)      forward passes without graphs
    made.vectors                                    of all texts; a loss of them has a gradient here
    made.replay(gradient)                           the same forward passes again, each followed by backward

A repeated pass replays its random state, so dropout is the same both times. The first micro-batch, with the longest
texts, is not repeated: its graph is kept.

A network can have a loss of its own, which needs no other micro-batch, such as that of masked tokens. It is part of
the graph that is replayed, so its gradient is counted once, together with that of the vectors (coCondenser, Gao &
Callan, 2022, equation 8). The pass without graphs need not compute it.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from cdesearch.models.backbones.packed import Packing, pack_texts
from trainer.data.training_batch import Tokens, sent

TIDY_EVERY = 4  # micro-batches between two releases of freed memory

Text = Tokens | Packing  # the texts of a micro-batch, on the device
State = tuple[Tensor, Tensor | None]  # of the CPU, and of the GPU if that is the device


class WithLoss(NamedTuple):
    """Results (n, ...) of a micro-batch, and its part () of a local loss; all parts add up to the loss of the batch."""

    vectors: Tensor
    loss: Tensor


Made = Tensor | WithLoss
Network = Callable[[Text, Tensor], Made]  # from texts and their rows in the batch to one result for each text


@dataclass(frozen=True, slots=True)
class Passing:
    """How texts pass through a network."""

    device: torch.device
    micro_batch: int
    shape: tuple[int, ...]  # of the result of one text
    keeps_graph: bool = True  # of the first micro-batch
    packs: bool = False  # without padding; the network then takes a Packing


@dataclass(frozen=True, slots=True)
class _Piece:
    """A micro-batch and the random state before its forward pass."""

    indices: Tensor  # of its texts
    text: Text
    state: State
    graph: Made | None = None  # the output with its graph, if it was kept


class CachedPass:
    """The results (n, *shape) in `vectors`, without a graph, and what repeats the pass with graphs."""

    def __init__(self, network: Network, texts: Tokens, passing: Passing) -> None:
        self._network = network
        self._device = passing.device
        self.vectors = torch.empty(len(texts), *passing.shape, device=self._device)
        # Everything that outlives a micro-batch is allocated before the first: small live blocks pin freed memory.
        self._pieces = [
            _Piece(sent(indices, self._device), self._send(part, packs=passing.packs), random_state(self._device))
            for indices, part in texts.micro_batches(passing.micro_batch)
        ]
        for number, piece in enumerate(self._pieces):
            for kept, now in zip(piece.state, random_state(self._device), strict=True):
                if kept is not None and now is not None:
                    kept.copy_(now)
            with torch.set_grad_enabled(passing.keeps_graph and not number):
                made = network(piece.text, piece.indices)
            of_texts = made.vectors if isinstance(made, WithLoss) else made
            self.vectors[piece.indices] = of_texts.detach()
            if of_texts.requires_grad:
                self._pieces[number] = replace(piece, graph=made)
            self._tidy(number)

    def replay(self, gradient: Tensor) -> Tensor:
        """Run backward through every micro-batch, from the gradient (n, ...) at the results.

        Returns the local loss (), which is 0 if the network has none.
        """
        local = torch.zeros((), device=self._device)
        for number, piece in enumerate(self._pieces):
            made = piece.graph
            if made is None:
                with replayed(piece.state, self._device):
                    made = self._network(piece.text, piece.indices)
            if isinstance(made, WithLoss):
                torch.autograd.backward(made, (gradient[piece.indices], torch.ones_like(made.loss)))
                local += made.loss.detach()
            else:
                made.backward(gradient[piece.indices])
            self._tidy(number)
        return local

    def _tidy(self, number: int) -> None:
        """Release freed memory after every TIDY_EVERY micro-batches, starting with the first, which needs the most."""
        if self._device.type == "cpu" and number % TIDY_EVERY == 0:
            release_freed_memory()

    def _send(self, tokens: Tokens, *, packs: bool) -> Text:
        """A micro-batch on the device. It is packed on the host, which knows the lengths, so that nothing waits."""
        return (pack_texts(tokens.ids, tokens.mask) if packs else tokens).to(self._device)


def release_freed_memory() -> None:
    """Return freed memory to the operating system, also between live blocks. Without glibc it does nothing."""
    if trim := _malloc_trim():
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return trim


def random_state(device: torch.device) -> State:
    """The present state."""
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None


@contextmanager
def replayed(state: State, device: torch.device) -> Iterator[None]:
    """Within this context manager, random numbers are those that followed an earlier state."""
    now = random_state(device)
    _restore(state, device)
    try:
        yield
    finally:
        _restore(now, device)


def _restore(state: State, device: torch.device) -> None:
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1], device)
