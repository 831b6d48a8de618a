"""BM25 by bm25s, and by the full-text index that cdesearch uses."""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.datasets.dataset import Dataset
from benchmarks.systems.ranking import Run, ranked
from benchmarks.systems.system import DEPTH
from cdesearch.store.index import connect

K1, B = 0.9, 0.4  # as in BEIR


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

    def scores(self, dataset: Dataset) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        """(queries, documents) BM25."""
        import bm25s
        import Stemmer

        def tokens(texts: list[str]) -> list[list[str]]:
            stemmer = Stemmer.Stemmer("english")
            found = bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False, return_ids=False)
            return [list(words) for words in found]

        index = bm25s.BM25(method="lucene", k1=K1, b=B)
        index.index(tokens(list(dataset.texts)), show_progress=False)
        return np.stack([index.get_scores(words) for words in tokens(list(dataset.queries.values()))])


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
