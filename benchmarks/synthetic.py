"""Indexes of any size whose vectors nobody had to wait for: real texts, vectors drawn around real ones."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from cdesearch import __version__
from cdesearch.context import Floats
from cdesearch.index import Index
from cdesearch.manifest import Manifest
from cdesearch.schema import Chunk, chunk_schema, chunk_to_row
from indexer.generation import open_building, swap_in
from indexer.write import Tables

SPREAD = 0.6  # noise beside a real vector of length 1: neighbours at cosine about .85, as real near-duplicates are
ROWS = 10_000


def grow(source: Index, folder: Path, n_chunks: int, seed: int = 0) -> Index:
    """An index of `n_chunks` with the model and context of `source`; sentences of its texts are mixed anew."""
    folder.mkdir(parents=True)
    (folder / "generations").mkdir()
    real = source.chunks.search().select(["text", "vector"]).limit(source.chunks.count_rows()).to_arrow()
    vectors = np.stack(real["vector"].to_numpy())
    sentences = [part for text in real["text"].to_pylist() for part in text.split(". ") if len(part) > 20]
    random = np.random.default_rng(seed)
    building = open_building(folder, None, {"synthetic": n_chunks})
    source.context.save(building / "context.safetensors")
    tables = Tables(building, vectors.shape[1])
    for start in range(0, n_chunks, ROWS):
        n = min(ROWS, n_chunks - start)
        tables.add(_rows(sentences, start, n, random), _around(vectors, n, random))
    tables.write_documents([])
    tables.finish()
    _manifest(source, n_chunks).save(building / "manifest.json")
    swap_in(folder, building)
    return Index(folder)


def _around(vectors: Floats, n: int, random: np.random.Generator) -> Floats:
    d = vectors.shape[1]
    drawn = vectors[random.integers(len(vectors), size=n)]
    drawn = drawn + random.standard_normal((n, d), np.float32) * np.float32(SPREAD / d**0.5)
    unit: Floats = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


def _rows(sentences: list[str], start: int, n: int, random: np.random.Generator) -> pa.RecordBatch:
    drawn = random.integers(len(sentences), size=(n, 4))
    texts = (". ".join(sentences[place] for place in row) for row in drawn)
    rows = [chunk_to_row(_chunk(number, text)) for number, text in enumerate(texts, start)]
    return pa.RecordBatch.from_pylist(rows, schema=chunk_schema(None))


def _chunk(number: int, text: str) -> Chunk:
    return Chunk(
        id=f"{number:032x}",
        document_id=f"synthetic.jsonl#{number}",
        record=str(number),
        ordinal=0,
        path="synthetic.jsonl",
        title="",
        trail=(),
        text=text,
        body_start=0,
        line_start=None,
        line_end=None,
        page=None,
    )


def _manifest(source: Index, n_chunks: int) -> Manifest:
    made = source.manifest
    return Manifest(
        cdesearch=__version__,
        model=made.model,
        model_fingerprint=made.model_fingerprint,
        context_fingerprint=made.context_fingerprint,
        context_size=made.context_size,
        context_limit=made.context_limit,
        seed=made.seed,
        max_tokens=made.max_tokens,
        root="..",
        sources=(),
        columns={},
        max_file_bytes=made.max_file_bytes,
        n_documents=0,
        n_chunks=n_chunks,
        has_parts=False,
        created=made.created,
        updated=made.updated,
    )
