"""Sequences of one length for the kinds `causal` and `diffusion`: all documents end to end, cut into windows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainer.data.random_stream import random_stream
from trainer.data.training_batch import Tokens, padded
from trainer.pretraining.token_documents import Rows, TokenDocuments

EVALUATED = 64  # held-out sequences whose loss is measured


@dataclass(frozen=True, slots=True)
class TokenWindows:
    """W windows (W, L) of tokens. The sequences of any step follow from the seed and the step alone."""

    ids: NDArray[np.int32]
    cut_share: float  # of sequences that are cut at a random length
    seed: int

    @classmethod
    def of(
        cls, documents: TokenDocuments, rows: Rows, separator: int, length: int, cut_share: float, seed: int
    ) -> "TokenWindows":
        """Windows of the documents `rows`, with a separator after each; what is left at the end is dropped."""
        parts = [np.append(documents.text_of(int(row)), np.int32(separator)) for row in rows]
        stream = np.concatenate([np.empty(0, np.int32), *parts])
        n_windows = len(stream) // length
        return cls(stream[: n_windows * length].reshape(n_windows, length), cut_share, seed)

    def of_step(self, step: int, size: int) -> Tokens:
        """At most `size` different windows. Every epoch has another order."""
        size = min(size, len(self.ids))
        epoch, place = divmod(step, len(self.ids) // size)
        order = random_stream(self.seed, "order of windows", epoch).permutation(len(self.ids))
        random = random_stream(self.seed, "cut windows", step)
        rows = self.ids[order[place * size : (place + 1) * size]].astype(np.int64)
        lengths = random.integers(2, rows.shape[1] + 1, len(rows))
        is_cut = random.random(len(rows)) < self.cut_share
        return padded([row[:length] if cut else row for row, length, cut in zip(rows, lengths, is_cut, strict=True)])

    def of_all(self) -> Tokens:
        """The first windows, at most EVALUATED."""
        return padded(list(self.ids[:EVALUATED].astype(np.int64)))
