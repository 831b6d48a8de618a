"""BM25 by bm25s, and by the full-text index that cdesearch uses."""

import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.ranking import Run, ranked
from benchmarks.systems.system import DEPTH
from cdesearch.context.vectors import Floats
from cdesearch.store.open_tables import connect

# bm25s imports JAX where it is installed, and JAX would take three quarters of the memory of a GPU.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

K1, B = 0.9, 0.4  # as in BEIR

StopWords = Literal["none", "english", "more"]
# The lists of bm25s: 33 words, as Lucene and LanceDB leave out, or 179, which question words are among.
STOP_WORDS: Mapping[StopWords, str | list[str]] = {"none": [], "english": "en", "more": "en_plus"}


class Bm25:
    """BM25 by bm25s, with English stop words and stemming."""

    name = "BM25 (bm25s)"

    def retrieve(self, dataset: Dataset) -> Run:
        """Rank the documents by BM25."""
        queries = dataset.queries
        return {
            query: ranked(dataset.ids, row, query, DEPTH)
            for query, row in zip(queries, self.scores(dataset), strict=True)
        }

    def scores(self, dataset: Dataset) -> Floats:
        """(queries, documents) BM25 scores."""
        return bm25_scores(stemmed(dataset), K1, B)


@dataclass(frozen=True, slots=True)
class Stemmed:
    """The words of all documents and queries, each reduced to its stem."""

    documents: list[list[str]]
    queries: list[list[str]]


def stemmed(dataset: Dataset, stop_words: StopWords = "english") -> Stemmed:
    """Split the texts into words as bm25s does, and leave out stop words."""
    import bm25s
    import Stemmer

    def words(texts: list[str]) -> list[list[str]]:
        stemmer = Stemmer.Stemmer("english")
        found = bm25s.tokenize(
            texts, stopwords=STOP_WORDS[stop_words], stemmer=stemmer, show_progress=False, return_ids=False
        )
        return [list(row) for row in found]

    return Stemmed(words(list(dataset.texts)), words(list(dataset.queries.values())))


def bm25_scores(texts: Stemmed, k1: float, b: float) -> Floats:
    """(queries, documents) scores of Lucene's BM25."""
    import bm25s

    index = bm25s.BM25(method="lucene", k1=k1, b=b)
    index.index(texts.documents, show_progress=False)
    nothing = np.zeros(len(texts.documents), np.float32)  # for a query of stop words alone, which bm25s refuses
    return np.stack([index.get_scores(words) if words else nothing for words in texts.queries])


def expected_idf(texts: Stemmed) -> float:
    """The mean idf of Lucene's BM25 over all occurrences of words in the documents."""
    n = len(texts.documents)
    holding = Counter(word for words in texts.documents for word in set(words))
    times = Counter(word for words in texts.documents for word in words)
    total = sum(times[word] * np.log1p((n - found + 0.5) / (found + 0.5)) for word, found in holding.items())
    return float(total / max(times.total(), 1))


class LanceText:
    """LanceDB's full-text search."""

    name = "BM25 (LanceDB)"

    def retrieve(self, dataset: Dataset) -> Run:
        """Rank the documents by the BM25 of LanceDB."""
        import pyarrow as pa
        from lancedb.index import FTS

        with tempfile.TemporaryDirectory() as folder:
            rows = pa.table({"id": dataset.ids, "text": dataset.texts})
            table = connect(Path(folder)).create_table("texts", rows)
            table.create_index("text", config=FTS(with_position=False))
            run = {}
            for name, query in dataset.queries.items():
                search = table.search(query, query_type="fts", fts_columns="text").select(["id", "_score"])
                found = search.limit(DEPTH + 1).to_arrow()
                scores = found["_score"].to_numpy()
                run[name] = ranked(found["id"].to_pylist(), scores, name, DEPTH) if len(scores) else []
        return run
