"""Texts of a small corpus, their context, and what an index of them must find."""

import numpy as np

from cdesearch.api import OpenIndex
from cdesearch.encode.embedder import context_of_texts
from cdesearch.encode.load import load_encoder

ROUNDED = 5e-3  # the largest difference to a number of a vector that is stored in eight bits
TEXTS = ["the cat and the dog", "water in the river", "moon light", "bread", "engine of stone " * 40, "a: b", "stone"]
CORPUS = [f"{text} {number}" for number in range(3) for text in TEXTS]


def write_corpus(folder):
    folder.mkdir()
    for number, text in enumerate(CORPUS):
        (folder / f"{number}.txt").write_text(text)
    return folder


def context_of(encoder, texts=TEXTS):
    return context_of_texts(encoder, texts, len(texts), seed=3)


def assert_finds_what_it_holds(opened: OpenIndex):
    hits = opened.search("water in the river 1", mode="dense", k=3)
    manifest = opened.index.manifest
    encoder = load_encoder(type(opened.index.root)(manifest.model), plain=not manifest.added_context)
    query = encoder.encode(["water in the river 1"], "query", opened.index.context)
    texts = encoder.encode([hit.chunk.text for hit in hits], "document", opened.index.context)
    np.testing.assert_allclose([hit.dense_score for hit in hits], (texts @ query.T)[:, 0], atol=ROUNDED)
