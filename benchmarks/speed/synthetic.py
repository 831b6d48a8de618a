"""Synthetic indexes of any size: sentences of real texts, and vectors drawn around real vectors."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.speed.indexing import write_first_lines
from cdesearch import __version__
from cdesearch.context.vectors import Floats
from cdesearch.progress import Silent
from cdesearch.store.checksums import MANIFEST, write_checksums
from cdesearch.store.file_account import OUTCOMES
from cdesearch.store.index import Index
from cdesearch.store.manifest import Manifest
from cdesearch.store.schema import Chunk, chunk_schema, chunk_to_row, document_schema
from indexer.build import build
from indexer.generations.generation import open_building, swap_in
from indexer.generations.lock import locked
from indexer.generations.tables import Tables
from indexer.settings import Options

SPREAD = (
    0.6  # length of the noise added to a unit vector: neighbours have a cosine of about .85, as near-duplicates have
)
ROWS = 10_000
SOURCE_DOCUMENTS = 600
SOURCE_INDEX = "index"  # in the folder of `source_index`

TextsAndVectors = tuple[list[str], Floats]  # texts and their unit vectors (n, d)


def source_index(corpus: Path, folder: Path) -> Index:
    """A real index of the first documents of a BEIR folder, to draw from."""
    folder.mkdir(parents=True)
    first = write_first_lines(corpus, folder / "corpus.jsonl", SOURCE_DOCUMENTS)
    build([first], Options(index=folder / SOURCE_INDEX), Silent())
    return Index(folder / SOURCE_INDEX)


def draw(source: Index, n_chunks: int, seed: int = 0) -> Iterator[TextsAndVectors]:
    """Batches of `n_chunks` in all: sentences of `source` in new combinations, and vectors around its vectors."""
    real = source.chunks.search().select(["text", "vector"]).limit(source.chunks.count_rows()).to_arrow()
    vectors = np.stack(real["vector"].to_numpy())
    sentences = [part for text in real["text"].to_pylist() for part in text.split(". ") if len(part) > 20]
    random = np.random.default_rng(seed)
    for start in range(0, n_chunks, ROWS):
        n = min(ROWS, n_chunks - start)
        drawn = random.integers(len(sentences), size=(n, 4))
        yield [". ".join(sentences[number] for number in row) for row in drawn], _around(vectors, n, random)


def write_drawn(source: Index, folder: Path, n_chunks: int) -> None:
    """Write the batches of `draw` as files that any system can read: texts.jsonl and vectors.npy (n, d)."""
    folder.mkdir(parents=True)
    dimension = source.chunks.schema.field("vector").type.list_size
    vectors = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, (n_chunks, dimension))
    start = 0
    with (folder / "texts.jsonl").open("w", encoding="utf-8") as file:
        for texts, some in draw(source, n_chunks):
            vectors[start : start + len(texts)] = some
            for number, text in enumerate(texts, start):
                file.write(json.dumps({"_id": str(number), "text": text}) + "\n")
            start += len(texts)
    vectors.flush()


def read_drawn(folder: Path) -> Iterator[TextsAndVectors]:
    """Read the batches that `write_drawn` has written."""
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    with (folder / "texts.jsonl").open(encoding="utf-8") as lines:
        for start in range(0, len(vectors), ROWS):
            some = np.array(vectors[start : start + ROWS])
            yield [json.loads(next(lines))["text"] for _ in some], some


def grow(source: Index, folder: Path, batches: Iterable[TextsAndVectors]) -> Index:
    """Write an index of texts and vectors, with the model and context of `source`."""
    with locked(folder, wait=False):
        _grow(source, folder, batches)
    return Index(folder)


def _grow(source: Index, folder: Path, batches: Iterable[TextsAndVectors]) -> None:
    building = open_building(folder, None, {"synthetic": True})
    source.context.save(building / "context.safetensors")
    tables = Tables(building, source.chunks.schema.field("vector").type.list_size)
    n_chunks = 0
    for texts, vectors in batches:
        rows = [chunk_to_row(_chunk(number, text)) for number, text in enumerate(texts, n_chunks)]
        tables.add(pa.RecordBatch.from_pylist(rows, schema=chunk_schema(None)), vectors)
        n_chunks += len(texts)
    tables.write_documents(document_schema().empty_table())
    tables.finish()
    _manifest(source, n_chunks).save(building / MANIFEST)
    write_checksums(building, None)
    swap_in(folder, building)


def _around(vectors: Floats, n: int, random: np.random.Generator) -> Floats:
    d = vectors.shape[1]
    drawn = vectors[random.integers(len(vectors), size=n)]
    drawn = drawn + random.standard_normal((n, d), np.float32) * np.float32(SPREAD / d**0.5)
    unit: Floats = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


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
        dimension=made.dimension,
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
        files=dict.fromkeys(OUTCOMES, 0),
    )
