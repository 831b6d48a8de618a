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

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from cdesearch.models.backbones.packed import Packing, pack_texts
from trainer.data.training_batch import Tokens, sent

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
        self._pieces: list[_Piece] = []
        for rows, part in texts.micro_batches(passing.micro_batch):
            indices = sent(rows, self._device)
            # Texts are packed on the host, which knows the lengths, so that nothing waits.
            text = (pack_texts(part.ids, part.mask) if passing.packs else part).to(self._device)
            on_gpu = torch.cuda.get_rng_state(self._device) if self._device.type == "cuda" else None
            state = torch.get_rng_state(), on_gpu
            with torch.set_grad_enabled(passing.keeps_graph and not self._pieces):
                made = network(text, indices)
            of_texts = made.vectors if isinstance(made, WithLoss) else made
            self.vectors[indices] = of_texts.detach()
            self._pieces.append(_Piece(indices, text, state, made if of_texts.requires_grad else None))

    def replay(self, gradient: Tensor) -> None:
        """Run backward through every micro-batch, from the gradient (n, ...) at the results and from local losses."""
        for piece in self._pieces:
            made = piece.graph
            if made is None:
                with replayed(piece.state, self._device):
                    made = self._network(piece.text, piece.indices)
            if isinstance(made, WithLoss):
                torch.autograd.backward(made, (gradient[piece.indices], torch.ones_like(made.loss)))
            else:
                made.backward(gradient[piece.indices])


@contextmanager
def replayed(state: State, device: torch.device) -> Iterator[None]:
    """Within this context manager, random numbers are those that followed an earlier state."""
    with torch.random.fork_rng([] if state[1] is None else [device]):
        torch.set_rng_state(state[0])
        if state[1] is not None:
            torch.cuda.set_rng_state(state[1], device)
        yield
