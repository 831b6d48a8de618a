"""The batches of a run in order. The batch of any step depends only on the data and the seed."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from cdesearch.errors import InputError
from trainer.data.batches.cluster import Clusters
from trainer.data.batches.context_documents import ContextDocuments
from trainer.data.batches.false_negatives import Mask, false_negatives
from trainer.data.batches.pack import Packed, pack
from trainer.data.batches.token_store import DomainTokens, TokenStore
from trainer.data.batches.upcoming import upcoming
from trainer.data.batches.windows import first_copies, make_windows
from trainer.data.pairs.domains import Domain
from trainer.data.pairs.reading import Pair
from trainer.data.random_stream import random_stream
from trainer.data.surrogate.scores import Surrogate
from trainer.data.training_batch import (
    Batch,
    choose_context,
    documents_of,
    owners_of,
    padded,
    siblings_of,
    teacher_of_pairs,
)
from trainer.recipe import Recipe

ROWS = 512  # queries of a batch whose scores are in memory at once


@dataclass(frozen=True, slots=True)
class Part:
    """Pairs of one domain, with all that their batches are made of."""

    domain: Domain
    tokens: DomainTokens
    surrogate: Surrogate
    clusters: Clusters


@dataclass(frozen=True, slots=True)
class PartContext:
    """The documents of a part that can be context, and their tokens."""

    documents: ContextDocuments
    tokens: TokenStore


class BatchStream:
    """Packed and filtered batches of several domains."""

    def __init__(
        self, recipe: Recipe, parts: Mapping[str, Part], contexts: Mapping[str, PartContext] | None = None
    ) -> None:
        """`parts` and `contexts` have the names of domains. Without `contexts` a batch is its own context."""
        self._recipe = recipe
        self._parts = parts
        self._contexts = contexts
        self._epoch = -1
        self._packed: list[Packed] = []
        self.steps_per_epoch = len(self._pack(0))
        if not self.steps_per_epoch:
            raise InputError(
                f"No domain has the {recipe.batches.size} pairs of a batch.", "Lower batches.size or add pairs."
            )

    def upcoming(self, first: int, last: int, turn: tuple[int, int] = (0, 1)) -> Generator[Batch]:
        """The batches of steps `first` to `last` - 1, prepared while earlier steps run.

        With the `turn` (r, n) each step has n batches, and these are number r of each step. They are prepared by
        `run.workers` processes or by a thread, with the same result.
        """
        number, n_batches = turn
        numbers = range(first * n_batches + number, last * n_batches + number, n_batches)
        return upcoming(self.batch, numbers, self._recipe.run.workers)

    def batch(self, step: int) -> Batch:
        """The batch of `step`, counted from 0 over all epochs."""
        epoch, number = divmod(step, self.steps_per_epoch)
        packed = self._pack(epoch)[number]
        return self.make(packed, random_stream(self._recipe.run.seed, "context of a step", step))

    def make(self, packed: Packed, random: np.random.Generator) -> Batch:
        """Tokens, context and mask of one packed batch."""
        recipe = self._recipe.batches
        part = self._parts[packed.domain]
        pairs = [self._cut(pair) for pair in part.domain.take(packed.rows.tolist())]
        documents = documents_of(pairs)
        negatives = part.surrogate.negative_rows(packed.rows, pairs)
        query_tokens, document_tokens = part.tokens.of_batch(packed.rows, negatives)
        excluded, teacher = self._surrogate_scores(packed, pairs, documents)
        size = recipe.context_size if self._recipe.model.contextual else 1
        null_share = recipe.null_share if self._recipe.model.contextual else 1.0
        context, is_null = choose_context(len(documents), size, recipe.slot_dropout, null_share, random)
        batch = Batch(
            queries=query_tokens,
            documents=document_tokens,
            context=context,
            is_null=is_null,
            excluded=torch.from_numpy(excluded),
            teacher=teacher,
            owners=owners_of(pairs),
        )
        if recipe.by_document:
            batch = self._in_documents(batch, pairs, documents)
        return batch if self._contexts is None else self._in_context(batch, packed, documents, random)

    def _in_documents(self, batch: Batch, pairs: Sequence[Pair], documents: Sequence[str]) -> Batch:
        """The batch with the long documents of its chunks, and with their windows if the recipe has any."""
        siblings = siblings_of(pairs)
        copies = first_copies(documents, siblings)
        counts = batch.documents.mask.sum(1) * torch.from_numpy(copies == np.arange(len(copies)))
        batch = replace(batch, siblings=siblings, token_counts=counts)
        limit = self._recipe.model.window_tokens
        if not limit:
            return batch
        places = [pair.place for pair in pairs]
        places += [0] * (len(documents) - len(pairs))  # a hard negative is of no document
        return replace(batch, windows=make_windows(batch.documents, siblings, places, copies, limit))

    def _in_context(self, batch: Batch, packed: Packed, documents: Sequence[str], random: np.random.Generator) -> Batch:
        """The batch with other documents of its domain as context, with the same null slots.

        If the domain has no other document, the batch has no context.
        """
        assert self._contexts is not None
        recipe, n_own = self._recipe.batches, len(packed.rows)
        mean = self._parts[packed.domain].surrogate.documents[packed.rows].mean(0)
        context = self._contexts[packed.domain]
        rows = context.documents.choose(documents[:n_own], documents[n_own:], mean, recipe.context_size, random)
        if not len(rows):
            return replace(batch, is_null=torch.ones_like(batch.is_null))
        is_null = random.random(len(rows)) < recipe.slot_dropout
        if not batch.is_contextual:
            is_null[:] = True
        tokens = padded(context.tokens.take(rows).rows())
        return replace(batch, context_tokens=tokens, is_null=torch.from_numpy(is_null))

    def _cut(self, pair: Pair) -> Pair:
        n = self._recipe.batches.hard_negatives
        return replace(pair, negatives=pair.negatives[:n], scores=pair.scores[: n + 1])

    def _surrogate_scores(
        self, packed: Packed, pairs: Sequence[Pair], documents: list[str]
    ) -> tuple[Mask, Tensor | None]:
        """The mask of false negatives, and the teacher's logits if the recipe has a teacher; computed in blocks."""
        batches, learning = self._recipe.batches, self._recipe.learning
        queries = [pair.query for pair in pairs]
        view = self._parts[packed.domain].surrogate.view(packed.rows, pairs)
        excluded = np.empty((len(queries), len(documents)), np.bool_)
        is_surrogate = bool(learning.teacher_weight) and self._recipe.objective.teacher == "surrogate"
        teacher = np.empty(excluded.shape, np.float32) if is_surrogate else None
        for first in range(0, len(queries), ROWS):
            rows = slice(first, first + ROWS)
            scores = view.scores(batches.filter, rows)
            excluded[rows] = false_negatives(scores, queries, documents, batches.eps, first)
            if teacher is not None:
                fused = scores if batches.filter == "fused" else view.scores("fused", rows)
                teacher[rows] = fused * (0.1 / learning.teacher_temperature)
        if learning.teacher_weight and not is_surrogate:
            return excluded, teacher_of_pairs(pairs, learning.teacher_temperature)
        return excluded, None if teacher is None else torch.from_numpy(teacher)

    def _pack(self, epoch: int) -> list[Packed]:
        if epoch != self._epoch:
            recipe = self._recipe
            clusters = {name: part.clusters for name, part in self._parts.items()}
            settings = recipe.batches.size, recipe.batches.order, recipe.run.seed, epoch
            self._packed = pack(clusters, *settings, recipe.data.weights)
            self._epoch = epoch
        return self._packed


def unclustered(n_pairs: int) -> Clusters:
    """A single cluster of all pairs, so that batches are drawn from a domain at random."""
    return Clusters(np.zeros(n_pairs, np.int64), np.zeros((1, 1), np.float32))


def split(domain: Domain, share: float, seed: int) -> tuple[Sequence[int], Sequence[int]]:
    """The rows to train on, and the `share` of rows that is held out."""
    n_held = int(len(domain) * share)
    order = domain.shuffled(random_stream(seed, "held out"))
    return sorted(order[n_held:]), sorted(order[:n_held])
