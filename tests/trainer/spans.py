"""Pretraining in small: a contrast of spans, and masked tokens as the local loss."""

import torch
from batches import gradients, make_batch, make_student
from conftest import TINY
from torch import nn
from torch.nn import functional

from cdesearch.models.backbones.bert import mean_pool
from trainer.step.cached_pass import CachedPass, Passing, WithLoss

DEVICE = torch.device("cpu")
DIMENSION = TINY.backbone.dimension


class Spans:
    """An encoder with a decoder of masked tokens, and 2n spans: the even ones of which belong to the next odd ones."""

    def __init__(self, dropout=0.0):
        self.encoder = make_student(dropout=dropout)[0].second_stage
        torch.manual_seed(3)
        self.decoder = nn.Linear(DIMENSION, TINY.backbone.vocabulary)
        self.texts = make_batch(12).documents
        self.is_masked = torch.rand(self.texts.ids.shape, generator=torch.Generator().manual_seed(4)) < 0.3
        self.decoded = []  # whether each pass over a decoder had a graph

    def network(self, text, rows):
        """Vectors of some spans, and their part of the mean over spans of the losses of masked tokens."""
        states = self.encoder.states(text.ids, text.mask, None, None)
        vectors = mean_pool(states, text.mask.float())
        if not torch.is_grad_enabled():
            return vectors
        self.decoded.append(len(rows))
        masked = self.is_masked[rows][:, : text.ids.shape[1]] & (text.mask > 0)
        summed = functional.cross_entropy(self.decoder(states[masked]), text.ids[masked], reduction="sum")
        return WithLoss(vectors, summed / len(self.texts))

    def contrast(self, vectors):
        """coCondenser, equation 6: the mean over spans of the loss to find the other span of the same document."""
        n = len(vectors)
        scores = (vectors @ vectors.T).masked_fill(torch.eye(n, dtype=torch.bool), -torch.inf)
        return functional.cross_entropy(scores, torch.arange(n) ^ 1)

    def full_graph(self, micro_batch):
        """Loss and gradients of the same forward passes in one graph."""
        parts = self.texts.micro_batches(micro_batch)
        made = [self.network(part, rows) for rows, part in parts]
        order = torch.cat([rows for rows, _ in parts])
        loss = self.contrast(torch.cat([one.vectors for one in made])[order.argsort()]) + sum(one.loss for one in made)
        loss.backward()
        return loss.item(), gradients(self.encoder, self.decoder)

    def cached(self, micro_batch, keeps_graph=True):
        """The same by the gradient cache."""
        made = CachedPass(self.network, self.texts, Passing(DEVICE, micro_batch, (DIMENSION,), keeps_graph))
        vectors = made.vectors.requires_grad_()
        loss = self.contrast(vectors)
        loss.backward()
        return (loss.detach() + made.replay(vectors.grad)).item(), gradients(self.encoder, self.decoder)
