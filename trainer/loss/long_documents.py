"""Long documents in training: chunks lean towards their document, and queries are compared with documents, too.

The losses of the contextual stage of pplx-embed compare a query with the chunks of its own document (L_seq), with all
chunks of the batch (L_batch), and with whole documents (L_global). All are InfoNCE; `BatchLoss` puts them together.

    L = b L_global + (1 - b) L_local      L_local = a L_seq + (1 - a) L_batch      b rises from step to step
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

SEQUENCE_SHARE = 0.2  # a
DOCUMENT_SHARE = (0.2, 0.5)  # b at the first and at the last step


def document_share(step: int, n_steps: int) -> float:
    """b at the step with the number `step`, from 0, of `n_steps`: it rises in a half cosine."""
    done = min(1.0, step / max(1, n_steps - 1))
    first, last = DOCUMENT_SHARE
    return first + (last - first) * (1 - math.cos(math.pi * done)) / 2


def in_document(own: Tensor, siblings: Tensor, weight: float) -> Tensor:
    """(n, d) unit vectors with document context, as `cdesearch.context.document` adds it, with gradients.

    The chunks of a document in the batch count as the whole document. `own` (n, d) are unit vectors; `siblings` (n,)
    are numbers below n that are equal for chunks of one document.
    """
    sums = torch.zeros_like(own).index_add(0, siblings, own)
    return functional.normalize(own + weight * functional.normalize(sums, dim=-1)[siblings], dim=-1)


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
