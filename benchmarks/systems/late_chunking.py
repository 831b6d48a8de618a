"""Late chunking (Guenther et al., 2024): a biencoder reads a document, and its states are pooled by chunk."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.biencoder import Biencoder
from benchmarks.systems.ranking import Run
from benchmarks.systems.vectors import kept, nearest
from cdesearch.context.vectors import Floats
from cdesearch.encode.load import load_tokenizer

WINDOW = 512  # tokens that the model reads at once, two special ones included


class LateChunking:
    """An untrained biencoder; a document that is too long for the model is read in windows of whole chunks."""

    def __init__(self, biencoder: Biencoder, folder: Path, work: Path) -> None:
        self.name = f"{biencoder.name}, late chunking"
        self._biencoder = biencoder
        self._folder = folder
        self._work = work

    def retrieve(self, dataset: Dataset) -> Run:
        """Rank the chunks by cosine."""
        queries, _ = self._biencoder.vectors(dataset)
        documents = kept(self._work, f"{self._folder} late chunking", dataset.texts, lambda _: self._embed(dataset))
        return nearest(dataset, queries, documents)

    def _embed(self, dataset: Dataset) -> Floats:
        import torch
        from transformers import AutoModel

        model = AutoModel.from_pretrained(self._folder).eval()
        tokenizer = load_tokenizer(self._folder / "tokenizer.json")
        rows = [encoding.ids[1:-1] for encoding in tokenizer.encode_batch_fast(list(dataset.texts))]
        first, last = tokenizer.encode("").ids
        vectors = np.zeros((len(rows), model.config.hidden_size), np.float32)
        for chunks in dataset.documents:
            for window in _windows(chunks, rows):
                spans = [rows[chunk][: WINDOW - 2] for chunk in window]
                ids = torch.tensor([[first, *(token for span in spans for token in span), last]])
                with torch.inference_mode():
                    states = model(input_ids=ids).last_hidden_state[0, 1:-1]
                edges = np.cumsum([0, *map(len, spans)])
                for chunk, start, stop in zip(window, edges[:-1], edges[1:], strict=True):
                    vectors[chunk] = states[start:stop].mean(0).numpy() if stop > start else 0
        unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return unit


def _windows(chunks: list[int], rows: list[list[int]]) -> Iterator[list[int]]:
    """Groups of adjacent chunks that fit into the model together."""
    window: list[int] = []
    used = 2
    for chunk in chunks:
        if window and used + len(rows[chunk]) > WINDOW:
            yield window
            window, used = [], 2
        window.append(chunk)
        used += len(rows[chunk])
    if window:
        yield window
