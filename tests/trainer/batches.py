"""A small batch for the trainer's tests, also for processes of their own."""

from dataclasses import replace

import numpy as np
import torch
from conftest import TINY, make_model, make_tokenizer

from trainer.data.training_batch import Batch, tokenize
from trainer.loss.contrastive import contrastive
from trainer.loss.whitening_head import TokenWeights, WhiteningHead

WORDS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone", "light"]


VARIANTS = {
    "cached": TINY,
    "sink": replace(TINY, context_sink=True),
    "joint": replace(TINY, context_attention="joint"),
}  # all kinds of context attention


def make_batch(n=12, n_null=1):
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS, size=random.integers(2, 9))) for _ in range(2 * n)]
    tokenizer = make_tokenizer()
    is_null = torch.zeros(n - 2, dtype=torch.bool)
    is_null[:n_null] = True
    excluded = torch.zeros(n, n, dtype=torch.bool)
    excluded[0, 3] = True
    return Batch(
        queries=tokenize(tokenizer, texts[:n], "", 32),
        documents=tokenize(tokenizer, texts[n:], "", 32),
        context=torch.arange(n - 2),
        is_null=is_null,
        excluded=excluded,
        siblings=torch.arange(n) // 3,
    )


def make_student(config=TINY, dropout=0.0):
    model = make_model(config)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = dropout
    return model.train(), WhiteningHead(config.statistics)


def loss_fn_of(head, batch):
    def loss_fn(queries, documents, context):
        return contrastive(*map(head.fitted(context), (queries, documents)), batch.excluded, 0.05)

    return loss_fn


def weights_of(head, batch):
    return TokenWeights(TINY.backbone.vocabulary, [0, 1, 2, 3], torch.device("cpu")).of(batch, head)


def gradients(*modules):
    return {
        f"{number}.{name}": parameter.grad.clone()
        for number, module in enumerate(modules)
        for name, parameter in module.named_parameters()
        if parameter.grad is not None
    }
