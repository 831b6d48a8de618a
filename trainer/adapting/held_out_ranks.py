"""How high a model ranks the passages of held-out sentences, from which these are taken out."""

from collections import defaultdict
from hashlib import blake2b

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from cdesearch.context.document import add_document_context
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.context.whitening import soft_whitening
from cdesearch.encode.backends.torch import TorchRuntime
from cdesearch.encode.encoder import Encoder
from cdesearch.evaluation.measures import DEPTH
from cdesearch.evaluation.own_questions import without
from cdesearch.models.contextual.model import ContextualModel
from trainer.adapting.corpus import Corpus


def reciprocal_ranks(model: ContextualModel, tokenizer: Tokenizer, corpus: Corpus, device: torch.device) -> Floats:
    """(n,) of the best answer of each question among the held-out chunks by cosine, 0 below the first DEPTH.

    The held-out chunks are the corpus whose statistics the model reads, and their documents have document context.
    """
    encoder = Encoder(model.config, tokenizer, TorchRuntime(model.eval(), device), "adapting")
    vectors, queries = _vectors(encoder, corpus)
    scores = to_unit(queries) @ to_unit(vectors).T
    places = {chunk.id: place for place, chunk in enumerate(corpus.held_out)}
    ranks = np.zeros(len(corpus.questions), np.float32)
    for row, question in enumerate(corpus.questions):
        best = max(scores[row, places[answer]] for answer in question.answers)
        rank = 1 + int((scores[row] > best).sum())
        ranks[row] = 1 / rank if rank <= DEPTH else 0.0
    return ranks


def _vectors(encoder: Encoder, corpus: Corpus) -> tuple[Floats, Floats]:
    """The vectors of the held-out chunks (m, d), with document context, and of the questions (n, d)."""
    texts = _texts(corpus)
    hashes = [blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest() for text in texts]
    frequencies = encoder.count_tokens(texts)
    size = min(len(texts), encoder.context_size)
    states = encoder.context_states(texts[:size], frequencies)
    sample = encoder.make_sample([chunk.id for chunk in corpus.held_out[:size]], hashes[:size], states, frequencies, 0)
    pooled = encoder.encode(texts, "document", sample)
    whitening = soft_whitening(pooled, encoder.config.statistics)
    own = whitening.apply(pooled)
    queries = whitening.apply(encoder.encode([one.text for one in corpus.questions], "query", sample))
    for rows in _rows_of_documents(corpus):
        own[rows] = add_document_context(own[rows], encoder.config.document_weight)
    return own, queries


def _texts(corpus: Corpus) -> list[str]:
    """The texts of the held-out chunks without the sentences that they answer."""
    removed: dict[str, list[str]] = defaultdict(list)
    for question in corpus.questions:
        for answer in question.answers:
            removed[answer].append(question.removed)
    texts = []
    for chunk in corpus.held_out:
        text = chunk.text
        for part in sorted(removed[chunk.id], key=len, reverse=True):
            text = without(text, part)
        texts.append(text)
    return texts


def _rows_of_documents(corpus: Corpus) -> list[NDArray[np.int64]]:
    rows: dict[str, list[int]] = defaultdict(list)
    for row, chunk in enumerate(corpus.held_out):
        rows[chunk.document_id].append(row)
    return [np.array(of_document) for of_document in rows.values()]
