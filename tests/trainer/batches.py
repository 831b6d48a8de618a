"""A small batch and other data for the trainer's tests, also for processes of their own."""

import json
from dataclasses import replace

import numpy as np
import torch
from built import WORDS
from conftest import TINY, make_model, make_tokenizer

from trainer.data.training_batch import Batch, make_windows, tokenize
from trainer.loss.batch_loss import contrastive
from trainer.loss.heads import TokenWeights, WhiteningHead

VARIANTS = {
    "cached": TINY,
    "sink": replace(TINY, context_sink=True),
    "joint": replace(TINY, context_attention="joint"),
}  # all kinds of context attention
WINDOWED = replace(TINY, window_tokens=20)  # reads the chunks of a document together
PLACES = [2, 0, 1] * 4  # of the chunks of four documents; they are not in order


def write_rows(file, rows):
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


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


def make_window_batch():
    """Four documents of three chunks each, the last of which has the same chunk twice."""
    batch = make_batch()
    ids, mask = batch.documents.ids.clone(), batch.documents.mask.clone()
    ids[11], mask[11] = ids[9], mask[9]
    documents, copies = replace(batch.documents, ids=ids, mask=mask), np.array([*range(11), 9])
    windows = make_windows(documents, batch.siblings, PLACES, copies, WINDOWED.window_tokens)
    counts = mask.sum(1) * torch.from_numpy(copies == np.arange(12))
    excluded = batch.excluded.clone()
    excluded[9, 11] = excluded[11, 9] = True
    return replace(batch, documents=documents, windows=windows, token_counts=counts, excluded=excluded)


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
