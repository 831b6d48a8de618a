"""The batches of a run in order. The batch of any step depends only on the data and the seed."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cdesearch.context.vectors import Floats
from cdesearch.errors import InputError
from trainer.data.batches.cluster import Clusters, Packed, pack
from trainer.data.batches.upcoming import upcoming
from trainer.data.pairs.domains import Domain
from trainer.data.pairs.reading import Pair
from trainer.data.store import Integers, Rows, random_stream, spans
from trainer.data.surrogate import Surrogate
from trainer.data.training_batch import (
    Batch,
    documents_of,
    first_copies,
    make_windows,
    owners_of,
    padded,
    siblings_of,
    teacher_of_pairs,
)
from trainer.recipe import Recipe

Mask = NDArray[np.bool_]
ROWS = 512  # queries of a batch whose scores are in memory at once
SLOT_DROPOUT = 0.005  # probability that the null vector replaces a context document (CDE section 4.2)
NULL_SHARE = 0.05  # of the batches without context, because a model must also embed without it
TEACHER_TEMPERATURE = 0.05


def false_negatives(scores: Floats, queries: Sequence[str], documents: Sequence[str], eps: float, first: int) -> Mask:
    """(R, D) mask, true if document j must not count against query `first` + i.

    `scores` (R, D) are those of the surrogate for R consecutive queries out of B; document i < B belongs to query i.
    A document is masked if its score exceeds that of the query's own document by more than `eps` times that score, if
    its text equals that of the own document, or if it belongs to the same query. The own document is never masked.
    """
    row = np.arange(len(scores))
    mine = first + row
    own = scores[row, mine][:, None]
    mask: Mask = scores > own + eps * np.abs(own)
    texts = np.array([hash(text) for text in documents])
    query_hashes = np.array([hash(text) for text in queries])
    mask |= texts[None, :] == texts[mine, None]
    mask[:, : len(query_hashes)] |= query_hashes[None, :] == query_hashes[mine, None]
    mask[row, mine] = False
    return mask


@dataclass(frozen=True, slots=True)
class DomainData:
    """All pairs of a domain, with what batches are made of. Hard negatives are those that the recipe uses."""

    domain: Domain
    negative_ends: Integers  # (N + 1,) where the hard negatives of each pair end among those of the domain
    queries: Rows  # tokens
    documents: Rows
    negatives: Rows
    surrogate: Surrogate


@dataclass(frozen=True, slots=True)
class Part:
    """Pairs of one domain: those to train on, or those held out."""

    data: DomainData
    rows: Integers  # (n,) of the domain
    clusters: Clusters  # of these rows

    def texts(self, column: str) -> list[str]:
        texts = self.data.domain.column(column)
        return [texts[row] for row in self.rows.tolist()]


class ContextDocuments:
    """The distinct documents of a part that can be context, by cluster: similar to a batch, but none of it.

    If the documents of a batch are its context, the context contains each query's own document. In an index that is
    rare, and a model could learn to find the document there.
    """

    def __init__(self, part: Part) -> None:
        self.part = part
        documents, k = part.data.surrogate.documents[part.rows], len(part.clusters.centroids)
        # A document can belong to several pairs: the first of them represents it.
        self._digests, self._rows = np.unique(_digests(part.texts("document")), return_index=True)
        self._assignment = part.clusters.assignment[self._rows]
        by_cluster = np.argsort(self._assignment, kind="stable")
        counts = np.bincount(self._assignment, minlength=k)
        self._members = np.split(by_cluster, np.cumsum(counts)[:-1])  # indices in _rows, one array a cluster
        self._means = np.zeros((k, documents.shape[1]), np.float32)
        for cluster, members in enumerate(self._members):
            if len(members):
                self._means[cluster] = documents[np.sort(self._rows[members])].mean(0)

    def choose(
        self, documents: Sequence[str], others: Sequence[str], mean: Floats, size: int, random: np.random.Generator
    ) -> Integers:
        """Rows of at most `size` texts; none is one of the batch's `documents` or of `others`, its hard negatives.

        They come from the clusters of `documents`, then from the clusters nearest to their `mean` (d,) vector, and so
        on through the whole domain.
        """
        own = self._find(documents)
        available = np.ones(len(self._rows), np.bool_)
        available[own] = available[self._find(others)] = False
        nearness = self._means @ mean
        nearness[self._assignment[own]] = np.inf
        chosen: list[int] = []
        for cluster in np.argsort(-nearness, kind="stable"):
            members = self._members[cluster]
            members = random.permutation(members[available[members]])
            chosen += members[: size - len(chosen)].tolist()
            if len(chosen) == size:
                break
        rows: Integers = np.sort(self._rows[chosen])
        return rows

    def _find(self, texts: Sequence[str]) -> Integers:
        """The indices of those `texts` that are documents of the domain."""
        wanted = _digests(texts)
        found = np.minimum(np.searchsorted(self._digests, wanted), len(self._digests) - 1)
        indices: Integers = found[self._digests[found] == wanted]
        return indices


def _digests(texts: Sequence[str]) -> NDArray[np.uint64]:
    digests = b"".join(blake2b(text.strip().encode("utf-8", "replace"), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, np.uint64)


class BatchStream:
    """Packed and filtered batches of several domains."""

    def __init__(
        self, recipe: Recipe, parts: Mapping[str, Part], contexts: Mapping[str, ContextDocuments] | None = None
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

        With the `turn` (r, n) each step has n batches, and these are number r of each step.
        """
        number, n_batches = turn
        return upcoming(self.batch, range(first * n_batches + number, last * n_batches + number, n_batches))

    def batch(self, step: int) -> Batch:
        """The batch of `step`, counted from 0 over all epochs."""
        epoch, number = divmod(step, self.steps_per_epoch)
        packed = self._pack(epoch)[number]
        return self.make(packed, random_stream(self._recipe.run.seed, "context of a step", step))

    def make(self, packed: Packed, random: np.random.Generator) -> Batch:
        """Tokens, context and mask of one packed batch."""
        recipe = self._recipe
        data = self._parts[packed.domain].data
        rows = self._parts[packed.domain].rows[packed.rows]
        most = recipe.batches.hard_negatives
        pairs = [
            replace(pair, negatives=pair.negatives[:most], scores=pair.scores[: most + 1])
            for pair in data.domain.take(rows)
        ]
        documents = documents_of(pairs)
        negatives = spans(data.negative_ends[rows], np.diff(data.negative_ends)[rows])
        excluded, teacher = self._surrogate_scores(data.surrogate, rows, negatives, pairs, documents)
        context, is_null = self._choose_context(len(documents), random)
        batch = Batch(
            queries=padded(data.queries.at(rows)),
            documents=padded(data.documents.at(rows) + data.negatives.at(negatives)),
            context=context,
            is_null=is_null,
            excluded=torch.from_numpy(excluded),
            teacher=teacher,
            owners=owners_of(pairs),
        )
        if recipe.batches.clusters == "documents":
            batch = self._in_documents(batch, pairs, documents)
        if self._contexts is None:
            return batch
        other, n, size = self._contexts[packed.domain], len(rows), recipe.batches.context_size
        mean = data.surrogate.documents[rows].mean(0)
        chosen = other.choose(documents[:n], documents[n:], mean, size, random)
        if not len(chosen):  # the domain has no other document
            return replace(batch, is_null=torch.ones_like(batch.is_null))
        nulls = random.random(len(chosen)) < SLOT_DROPOUT
        if not batch.is_contextual:
            nulls[:] = True
        tokens = padded(other.part.data.documents.at(other.part.rows[chosen]))
        return replace(batch, context_tokens=tokens, is_null=torch.from_numpy(nulls))

    def _choose_context(self, n_documents: int, random: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Indices of documents, the context of the whole batch, and which slots hold the null vector.

        The baseline has no context. Neither has a batch of a few long documents: they say little of a corpus.
        """
        recipe = self._recipe
        indices = random.permutation(n_documents)[: recipe.batches.context_size]
        is_null = random.random(len(indices)) < SLOT_DROPOUT
        if random.random() < NULL_SHARE or recipe.model.context == "none" or recipe.objective.contextual:
            is_null[:] = True
        return torch.from_numpy(np.sort(indices)), torch.from_numpy(is_null)

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

    def _surrogate_scores(
        self, surrogate: Surrogate, rows: Integers, negatives: Integers, pairs: Sequence[Pair], documents: Sequence[str]
    ) -> tuple[Mask, Tensor | None]:
        """The mask of false negatives, and the teacher's logits if the recipe has a teacher; computed in blocks."""
        batches, has_teacher = self._recipe.batches, self._recipe.learning.teacher_weight > 0
        queries = [pair.query for pair in pairs]
        view, taught = surrogate.view(rows, negatives, queries), surrogate.taught(rows, negatives)
        excluded = np.empty((len(queries), len(documents)), np.bool_)
        is_surrogate = has_teacher and self._recipe.objective.teacher == "surrogate"
        teacher = np.empty(excluded.shape, np.float32) if is_surrogate else None
        for first in range(0, len(queries), ROWS):
            some = slice(first, first + ROWS)
            scores = view(batches.filter, some)
            excluded[some] = false_negatives(scores, queries, documents, batches.eps, first)
            if teacher is not None:
                fused = scores if batches.filter == "fused" else view("fused", some)
                teacher[some] = taught(fused, some) * (0.1 / TEACHER_TEMPERATURE)
        if has_teacher and not is_surrogate:
            return excluded, teacher_of_pairs(pairs, TEACHER_TEMPERATURE)
        return excluded, None if teacher is None else torch.from_numpy(teacher)

    def _pack(self, epoch: int) -> list[Packed]:
        if epoch != self._epoch:
            clusters = {name: part.clusters for name, part in self._parts.items()}
            self._packed = pack(clusters, self._recipe.batches.size, self._recipe.run.seed, epoch)
            self._epoch = epoch
        return self._packed
