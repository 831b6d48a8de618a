"""The systems whose speed is compared. Each stage of one runs in a process of its own, which imports only this file."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
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
LANCE_INDEX_ABOVE = 100_000  # rows; its documentation advises against a vector index for fewer

Search = Callable[[str], Sequence[str]]  # from a query to the ids of the best texts


class Peer(Protocol):
    """A system for indexing and searching."""

    def build(self, texts: Path, folder: Path, vectors: Path | None) -> None:
        """Index the rows of a JSONL file into files in `folder`; with `vectors` (n, d), no model runs."""

    def open(self, folder: Path) -> Search:
        """Open the files in `folder`; returns a function from a query to the ids of the best texts."""


@dataclass(frozen=True, slots=True)
class Cdesearch:
    """cdesearch: contextual vectors fused with BM25. Drawn vectors are those of the index beside their folder."""

    kind: VectorKind = DEFAULT

    def build(self, texts: Path, folder: Path, vectors: Path | None) -> None:
        """Index as `cdesearch index` does, or write the tables that it writes."""
        if vectors is not None:
            from benchmarks.speed.synthetic import grow, read_drawn

            grow(texts.parent.parent / "source" / "index", folder, read_drawn(texts.parent), self.kind)
            return
        from cdesearch.progress import Silent
        from indexer.build import build
        from indexer.settings import Options

        build([texts], Options(index=folder, vectors=self.kind), Silent())

    def open(self, folder: Path) -> Search:
        """Open the index; the function searches as `cdesearch query` does."""
        from cdesearch.search.searcher import Searcher
        from cdesearch.store.index import Index

        searcher = Searcher(Index(folder))
        return lambda query: [hit.chunk.document_id for hit in searcher.search(query, K)]


class _SentenceTransformers:
    """all-MiniLM-L6-v2 in sentence-transformers, with the text length of cdesearch, and a store for its vectors."""

    def __init__(self) -> None:
        from sentence_transformers import SentenceTransformer

        from benchmarks.systems.biencoder import installed_minilm

        self._model: Any = SentenceTransformer(str(installed_minilm()), device="cpu")
        self._model.max_seq_length = 512

    def build(self, texts: Path, folder: Path, vectors: Path | None) -> None:
        """Embed the texts, unless they have vectors, and write the index."""
        import numpy as np

        ids, rows = _read(texts)
        self.write(ids, rows, self.embed(rows) if vectors is None else np.load(vectors), folder)

    def embed(self, texts: list[str]) -> Floats:
        """(n, d) unit vectors, as the documentation of sentence-transformers says."""
        vectors: Floats = self._model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
        return vectors

    def write(self, ids: list[str], texts: list[str], vectors: Floats, folder: Path) -> None:
        """Write all files that a search needs."""
        raise NotImplementedError


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

        from cdesearch.store.storage import connect

        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
        table: Any = connect(folder).create_table("texts", pa.table({"id": ids, "text": texts, "vector": column}))
        table.create_index("text", config=FTS(with_position=False))
        if len(ids) > LANCE_INDEX_ABOVE:
            table.create_index("vector", config=IvfPq(distance_type="cosine"))

    def open(self, folder: Path) -> Search:
        """Open the LanceDB table; the function searches by vectors and words."""
        from cdesearch.store.storage import connect

        table: Any = connect(folder).open_table("texts")

        def search(query: str) -> list[str]:
            found = table.search(query_type="hybrid").vector(self.embed([query])[0]).text(query).limit(K)
            names: list[str] = found.to_arrow()["id"].to_pylist()
            return names

        return search


class Words:
    """BM25 by bm25s, without vectors."""

    def build(self, texts: Path, folder: Path, vectors: Path | None) -> None:  # noqa: ARG002 (the protocol has them)
        """Write the index files of bm25s."""
        import bm25s

        ids, rows = _read(texts)
        index = bm25s.BM25(corpus=ids)
        index.index(bm25s.tokenize(rows, stopwords="en", show_progress=False), show_progress=False)
        index.save(str(folder), show_progress=False)

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
}
# cdesearch with other kinds of stored vectors, which are measured on request.
PEERS = DEFAULT_PEERS | {f"cdesearch {kind}": partial(Cdesearch, kind) for kind in KINDS}


def built(name: str, texts: Path, vectors: Path | None, folder: Path) -> dict[str, float]:
    """Seconds, memory and megabytes on disk of an index of texts."""
    folder.mkdir(parents=True, exist_ok=True)
    peer = PEERS[name]()
    started = time.perf_counter()
    peer.build(texts, folder, vectors)
    seconds = time.perf_counter() - started
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return {"index_s": seconds, "index_gb": peak_memory() / 1e9, "disk_mb": size / 1e6}


def searched(name: str, folder: Path, queries: Sequence[str]) -> dict[str, float]:
    """Milliseconds of a query, and memory; nothing for a single query, whose process is timed."""
    search = PEERS[name]().open(folder)
    took = list(_milliseconds(search, queries))[WARM_UP:]
    if not took:
        return {}
    return {"p50_ms": median(took), "p95_ms": quantiles(took, n=20)[-1], "search_gb": peak_memory() / 1e9}


def _milliseconds(search: Search, queries: Sequence[str]) -> Iterator[float]:
    for query in queries:
        started = time.perf_counter()
        search(query)
        yield 1000 * (time.perf_counter() - started)


def _read(texts: Path) -> tuple[list[str], list[str]]:
    rows = [json.loads(line) for line in texts.open(encoding="utf-8")]
    return [row["_id"] for row in rows], [row["text"] for row in rows]
