"""Run one system for indexing and searching in a process of its own. Each stage prints a JSON line.

    python -m benchmarks.speed.peer_process NAME build FOLDER TEXTS     JSONL of `_id` and `text`, or synthetic texts
    python -m benchmarks.speed.peer_process NAME search FOLDER QUERIES  a JSON list of queries
    python -m benchmarks.speed.peer_process NAME cold FOLDER QUERIES    the first of them

Synthetic texts are a folder of `synthetic.write_drawn` next to the folder `source` that they were drawn from. It
contains their vectors, so no model runs.
"""

import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Protocol

from benchmarks.machine import peak_memory
from cdesearch.context.vectors import Floats
from cdesearch.store.vector_format import DEFAULT, KINDS, VectorKind

K = 10
WARM_UP = 10
REDUCED = 192  # dimensions of the smallest vectors that are measured
LANCE_INDEX_ABOVE = 100_000  # rows; its documentation advises against a vector index for fewer

Search = Callable[[str], list[str]]  # from a query to the ids of the best texts


class Peer(Protocol):
    """A system for indexing and searching."""

    def build(self, texts: Path, folder: Path) -> None:
        """Index texts into files in `folder`."""

    def store(self, drawn: Path, folder: Path) -> None:
        """Index synthetic texts with their synthetic vectors."""

    def open(self, folder: Path) -> Search:
        """Open the files in `folder`; returns a function from a query to the ids of the best texts."""


@dataclass(frozen=True, slots=True)
class Cdesearch:
    """cdesearch: contextual vectors fused with BM25."""

    kind: VectorKind = DEFAULT
    dimension: int | None = None  # of the stored vectors; None for that of the model

    def build(self, texts: Path, folder: Path) -> None:
        """Index as `cdesearch index` does."""
        from cdesearch.progress import Silent
        from indexer.build import build
        from indexer.settings import Options

        build([texts], Options(index=folder, vectors=self.kind, dimension=self.dimension), Silent())

    def store(self, drawn: Path, folder: Path) -> None:
        """Write the tables that `cdesearch index` writes."""
        import numpy as np

        from benchmarks.speed.synthetic import SOURCE_INDEX, Material, draw, grow, read_drawn
        from cdesearch.store.index import Index

        source = drawn.parent / "source" / SOURCE_INDEX
        if self.dimension is None:
            grow(Index(source), folder, read_drawn(drawn), self.kind)
        else:  # the drawn vectors have more dimensions
            smaller = Index(source.with_name(f"{source.name}-{self.dimension}"))
            n_chunks = len(np.load(drawn / "vectors.npy", mmap_mode="r"))
            grow(smaller, folder, draw(Material(smaller), n_chunks), self.kind)

    def open(self, folder: Path) -> Search:
        """Open the index; the function searches as `cdesearch query` does."""
        from cdesearch.search.searcher import Searcher
        from cdesearch.store.index import Index

        searcher = Searcher(Index(folder))
        return lambda query: [hit.chunk.document_id for hit in searcher.search(query, K)]


class _Embedded(ABC):
    """A system that consists of a model and a store for its vectors."""

    def build(self, texts: Path, folder: Path) -> None:
        """Embed the texts and write the index."""
        ids, rows = _read(texts)
        self.write(ids, rows, self.embed(rows), folder)

    def store(self, drawn: Path, folder: Path) -> None:
        """Write an index of the given vectors."""
        import numpy as np

        self.write(*_read(drawn / "texts.jsonl"), np.load(drawn / "vectors.npy"), folder)

    @abstractmethod
    def embed(self, texts: list[str]) -> Floats:
        """(n, d) unit vectors of documents."""

    @abstractmethod
    def write(self, ids: list[str], texts: list[str], vectors: Floats, folder: Path) -> None:
        """Write all files that a search needs."""


class Floor(_Embedded):
    """The int8 model of cdesearch without context, vectors in one NumPy file: the cost of the model alone."""

    def embed(self, texts: list[str]) -> Floats:
        """Embed as `cdesearch index` does, without a context."""
        from cdesearch.encode.load import load_encoder

        return load_encoder().encode(texts, "document", None)

    def write(self, ids: list[str], texts: list[str], vectors: Floats, folder: Path) -> None:  # noqa: ARG002 (no texts)
        """Write ids and vectors."""
        import numpy as np

        np.save(folder / "vectors.npy", vectors)
        (folder / "ids.json").write_text(json.dumps(ids), encoding="utf-8")

    def open(self, folder: Path) -> Search:
        """Load the vectors; the function computes all cosines and takes the best."""
        import numpy as np

        from cdesearch.encode.load import load_encoder

        encoder, vectors = load_encoder(), np.load(folder / "vectors.npy")
        ids = json.loads((folder / "ids.json").read_text(encoding="utf-8"))

        def search(query: str) -> list[str]:
            scores = vectors @ encoder.encode([query], "query", None)[0]
            return [ids[row] for row in np.argsort(-scores)[:K]]

        return search


class _SentenceTransformers(_Embedded):
    """all-MiniLM-L6-v2 in sentence-transformers, with the text length of cdesearch."""

    def __init__(self) -> None:
        from sentence_transformers import SentenceTransformer

        from benchmarks.systems.biencoder import installed_minilm

        self.model: Any = SentenceTransformer(str(installed_minilm()), device="cpu")
        self.model.max_seq_length = 512

    def embed(self, texts: list[str]) -> Floats:
        """Embed as the documentation of sentence-transformers says."""
        vectors: Floats = self.model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
        return vectors


class Faiss(_SentenceTransformers):
    """sentence-transformers and a flat faiss index."""

    def write(self, ids: list[str], texts: list[str], vectors: Floats, folder: Path) -> None:
        """Write vectors, ids and texts."""
        import faiss

        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(vectors)
        faiss.write_index(index, str(folder / "flat.faiss"))
        (folder / "texts.json").write_text(json.dumps([ids, texts]), encoding="utf-8")

    def open(self, folder: Path) -> Search:
        """Load the faiss index; the function searches all vectors exactly."""
        import faiss

        index = faiss.read_index(str(folder / "flat.faiss"))
        ids, _ = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
        return lambda query: [ids[row] for row in index.search(self.embed([query]), K)[1][0]]


class Lance(_SentenceTransformers):
    """sentence-transformers and LanceDB, searched by vectors and words, fused by its own reranker (RRF)."""

    def write(self, ids: list[str], texts: list[str], vectors: Floats, folder: Path) -> None:
        """Write a table with its indexes, all at the defaults of LanceDB."""
        import pyarrow as pa
        from lancedb.index import FTS, IvfPq

        from cdesearch.store.open_tables import connect

        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
        table: Any = connect(folder).create_table("texts", pa.table({"id": ids, "text": texts, "vector": column}))
        table.create_index("text", config=FTS(with_position=False))
        if len(ids) > LANCE_INDEX_ABOVE:
            table.create_index("vector", config=IvfPq(distance_type="cosine"))

    def open(self, folder: Path) -> Search:
        """Open the LanceDB table; the function searches by vectors and words."""
        from cdesearch.store.open_tables import connect

        table: Any = connect(folder).open_table("texts")

        def search(query: str) -> list[str]:
            found = table.search(query_type="hybrid").vector(self.embed([query])[0]).text(query).limit(K)
            names: list[str] = found.to_arrow()["id"].to_pylist()
            return names

        return search


class Words:
    """BM25 by bm25s, without vectors."""

    def build(self, texts: Path, folder: Path) -> None:
        """Write the index files of bm25s."""
        import bm25s

        ids, rows = _read(texts)
        index = bm25s.BM25(corpus=ids)
        index.index(bm25s.tokenize(rows, stopwords="en", show_progress=False), show_progress=False)
        index.save(str(folder), show_progress=False)

    def store(self, drawn: Path, folder: Path) -> None:
        """Index the texts; the vectors are not needed."""
        self.build(drawn / "texts.jsonl", folder)

    def open(self, folder: Path) -> Search:
        """Load the index of bm25s; the function searches by BM25."""
        import bm25s

        index = bm25s.BM25.load(str(folder), load_corpus=True, show_progress=False)

        def search(query: str) -> list[str]:
            words = bm25s.tokenize(query, stopwords="en", show_progress=False)
            found, _ = index.retrieve(words, k=K, show_progress=False)
            return [row["text"] if isinstance(row, dict) else str(row) for row in found[0]]

        return search


DEFAULT_PEERS: dict[str, Callable[[], Peer]] = {
    "cdesearch": Cdesearch,
    "sentence-transformers + faiss": Faiss,
    "sentence-transformers + LanceDB": Lance,
    "bm25s": Words,
    "int8 model alone": Floor,
}
# cdesearch with other kinds of stored vectors, which are measured on request.
PEERS = (
    DEFAULT_PEERS
    | {f"cdesearch {kind}": partial(Cdesearch, kind) for kind in KINDS}
    | {f"cdesearch int8 {REDUCED}": partial(Cdesearch, "int8", REDUCED)}
)


def _read(texts: Path) -> tuple[list[str], list[str]]:
    rows = [json.loads(line) for line in texts.open(encoding="utf-8")]
    return [row["_id"] for row in rows], [row["text"] for row in rows]


def _build(peer: Peer, folder: Path, texts: Path) -> dict[str, float]:
    folder.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    (peer.store if texts.is_dir() else peer.build)(texts, folder)
    seconds = time.perf_counter() - started
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return {"index_s": seconds, "index_gb": peak_memory() / 1e9, "disk_mb": size / 1e6}


def _search(peer: Peer, folder: Path, queries: list[str]) -> dict[str, float]:
    search = peer.open(folder)
    took = []
    for query in queries:
        started = time.perf_counter()
        search(query)
        took.append(1000 * (time.perf_counter() - started))
    took = took[WARM_UP:]
    return {"p50_ms": median(took), "p95_ms": quantiles(took, n=20)[-1], "search_gb": peak_memory() / 1e9}


def _main(name: str, stage: str, folder: Path, given: Path) -> dict[str, float]:
    peer = PEERS[name]()
    if stage == "build":
        return _build(peer, folder, given)
    queries = json.loads(given.read_text(encoding="utf-8"))
    if stage == "search":
        return _search(peer, folder, queries)
    return {"found": len(peer.open(folder)(queries[0]))}


if __name__ == "__main__":
    print(json.dumps(_main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))))
