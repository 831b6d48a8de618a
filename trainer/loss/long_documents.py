"""The losses of the contextual stage of pplx-embed: queries against chunks, and against whole documents.

    L = b L_global + (1 - b) L_local      L_local = a L_seq + (1 - a) L_batch      b rises from step to step

L_seq compares a query with the chunks of its own document, L_batch with all chunks of the batch, and L_global compares
it with documents. All are InfoNCE; trainer/loss/batch_loss.py puts them together.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.objective import Objective


def document_share(objective: Objective, step: int, n_steps: int) -> float:
    """b at the step with the number `step`, from 0, of `n_steps`: it rises in a half cosine."""
    done = min(1.0, step / max(1, n_steps - 1))
    first, last = objective.document_share_from, objective.document_share_to
    return first + (last - first) * (1 - math.cos(math.pi * done)) / 2


@dataclass(frozen=True, slots=True)
class LongDocuments:
    """The long documents of a batch whose D texts are chunks of them."""

    siblings: Tensor  # (D,) numbers below D that are equal for chunks of one document
    token_counts: Tensor  # (D,) how many tokens a chunk adds to its document; 0 for a chunk that occurs before it

    def whole(self, chunks: Tensor) -> Tensor:
        """(D, d) the mean of all tokens of each chunk's document, from the means (D, d) of the tokens of the chunks.

        The document is what the batch has of it.
        """
        counts = self.token_counts.to(chunks.dtype)[:, None]
        sums = torch.zeros_like(chunks).index_add(0, self.siblings, counts * chunks)
        totals = torch.zeros_like(counts).index_add(0, self.siblings, counts)
        return (sums / totals.clamp_min(1))[self.siblings]

    def in_sequence(self, excluded: Tensor) -> Tensor:
        """(B, D) `excluded` (B, D), and also true for the chunks of other documents than that of query i."""
        return excluded | (self.siblings[: len(excluded), None] != self.siblings)

    def of_documents(self, excluded: Tensor) -> Tensor:
        """(B, D) true where the document of a chunk must not count against a query.

        It is the query's own document, or has a chunk that is true in `excluded` (B, D). The first B columns are never
        true for the query of the same number.
        """
        n_queries, n = excluded.shape
        found = torch.zeros(n_queries, n, device=excluded.device).index_add(1, self.siblings, excluded.float())
        own = self.siblings[:n_queries]
        masked = (found[:, self.siblings] > 0) | (own[:, None] == self.siblings)
        return masked & ~torch.eye(n_queries, n, dtype=torch.bool, device=excluded.device)
