"""One way to index and search, alone in its process.

    python -m benchmarks.peer_process NAME TEXTS QUERIES FOLDER [cold]

Indexes TEXTS (JSONL of `_id` and `text`) into FOLDER, answers QUERIES (a JSON list), prints a JSON line. With `cold`
it opens FOLDER and answers the first query.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Protocol

from benchmarks.machine import peak_memory

K = 10
WARM_UP = 10


class Peer(Protocol):
    """A way to index and search."""

    def build(self, texts: Path, folder: Path) -> None:
        """Texts to files in `folder`."""

    def open(self, folder: Path) -> Callable[[str], list[str]]:
        """A function from a query to the ids of the best texts."""


class Cdesearch:
    """The product: contextual vectors and BM25, fused."""

    def build(self, texts: Path, folder: Path) -> None:
        """As `cdesearch index` does."""
        from indexer.build import build
        from indexer.progress import Silent
        from indexer.settings import Options

        build([texts], Options(index=folder), Silent())

    def open(self, folder: Path) -> Callable[[str], list[str]]:
        """As `cdesearch query` does."""
        from cdesearch.index import Index
        from cdesearch.search import Searcher

        searcher = Searcher(Index(folder))
        return lambda query: [hit.chunk.document_id for hit in searcher.search(query, K)]


class Floor:
    """Our ONNX int8 model without context, vectors in one numpy file: what the model alone costs."""

    def build(self, texts: Path, folder: Path) -> None:
        """Ids and vectors."""
        import numpy as np

        from cdesearch.encoder import load_encoder

        ids, rows = _read(texts)
        np.save(folder / "vectors.npy", load_encoder().encode(rows, "document", None))
        (folder / "ids.json").write_text(json.dumps(ids), encoding="utf-8")

    def open(self, folder: Path) -> Callable[[str], list[str]]:
        """Every cosine, the best of them."""
        import numpy as np

        from cdesearch.encoder import load_encoder

        encoder, vectors = load_encoder(), np.load(folder / "vectors.npy")
        ids = json.loads((folder / "ids.json").read_text(encoding="utf-8"))

        def search(query: str) -> list[str]:
            scores = vectors @ encoder.encode([query], "query", None)[0]
            return [ids[place] for place in np.argsort(-scores)[:K]]

        return search


class _SentenceTransformers:
    """all-MiniLM-L6-v2 as its library runs it, nothing of a text cut that ours reads."""

    def __init__(self) -> None:
        from sentence_transformers import SentenceTransformer

        from benchmarks.speed import installed_minilm

        self.model: Any = SentenceTransformer(str(installed_minilm()), device="cpu")
        self.model.max_seq_length = 512

    def embed(self, texts: list[str]) -> Any:
        """(n, d) unit vectors."""
        return self.model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)


class Faiss(_SentenceTransformers):
    """sentence-transformers and a flat faiss index."""

    def build(self, texts: Path, folder: Path) -> None:
        """Vectors, ids and texts."""
        import faiss

        ids, rows = _read(texts)
        vectors = self.embed(rows)
        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(vectors)
        faiss.write_index(index, str(folder / "flat.faiss"))
        (folder / "texts.json").write_text(json.dumps([ids, rows]), encoding="utf-8")

    def open(self, folder: Path) -> Callable[[str], list[str]]:
        """Exact search."""
        import faiss

        index = faiss.read_index(str(folder / "flat.faiss"))
        ids, _ = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
        return lambda query: [ids[place] for place in index.search(self.embed([query]), K)[1][0]]


class Lance(_SentenceTransformers):
    """sentence-transformers and LanceDB, searched by vectors and words, fused by its own reranker (RRF)."""

    def build(self, texts: Path, folder: Path) -> None:
        """A table with both indexes' data."""
        import pyarrow as pa
        from lancedb.index import FTS

        from cdesearch.index import connect

        ids, rows = _read(texts)
        vectors = self.embed(rows)
        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
        table = connect(folder).create_table("texts", pa.table({"id": ids, "text": rows, "vector": column}))
        table.create_index("text", config=FTS(with_position=False))

    def open(self, folder: Path) -> Callable[[str], list[str]]:
        """Hybrid search."""
        from cdesearch.index import connect

        table = connect(folder).open_table("texts")

        def search(query: str) -> list[str]:
            found = table.search(query_type="hybrid").vector(self.embed([query])[0]).text(query).limit(K)
            names: list[str] = found.to_arrow()["id"].to_pylist()
            return names

        return search


class Words:
    """bm25s alone."""

    def build(self, texts: Path, folder: Path) -> None:
        """Its own files."""
        import bm25s

        ids, rows = _read(texts)
        index = bm25s.BM25(corpus=ids)
        index.index(bm25s.tokenize(rows, stopwords="en", show_progress=False), show_progress=False)
        index.save(str(folder), show_progress=False)

    def open(self, folder: Path) -> Callable[[str], list[str]]:
        """BM25."""
        import bm25s

        index = bm25s.BM25.load(str(folder), load_corpus=True, show_progress=False)

        def search(query: str) -> list[str]:
            words = bm25s.tokenize(query, stopwords="en", show_progress=False)
            found, _ = index.retrieve(words, k=K, show_progress=False)
            return [row["text"] if isinstance(row, dict) else str(row) for row in found[0]]

        return search


PEERS: dict[str, Callable[[], Peer]] = {
    "cdesearch": Cdesearch,
    "sentence-transformers + faiss": Faiss,
    "sentence-transformers + LanceDB": Lance,
    "bm25s": Words,
    "int8 model alone": Floor,
}


def _read(texts: Path) -> tuple[list[str], list[str]]:
    rows = [json.loads(line) for line in texts.read_text(encoding="utf-8").splitlines()]
    return [row["_id"] for row in rows], [row["text"] for row in rows]


def _main(name: str, texts: Path, queries: list[str], folder: Path, cold: bool) -> None:
    peer = PEERS[name]()
    if cold:
        print(json.dumps({"found": len(peer.open(folder)(queries[0]))}))
        return
    folder.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    peer.build(texts, folder)
    seconds = time.perf_counter() - started
    peak = peak_memory()
    search = peer.open(folder)
    took = []
    for query in queries:
        started = time.perf_counter()
        search(query)
        took.append(1000 * (time.perf_counter() - started))
    took = took[WARM_UP:]
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    figures = {"index_s": seconds, "peak_gb": peak / 1e9, "disk_mb": size / 1e6}
    print(json.dumps(figures | {"p50_ms": median(took), "p95_ms": quantiles(took, n=20)[-1]}))


if __name__ == "__main__":
    _, which, file, asked, place, *rest = sys.argv
    _main(which, Path(file), json.loads(Path(asked).read_text(encoding="utf-8")), Path(place), bool(rest))
