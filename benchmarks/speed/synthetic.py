"""Synthetic indexes of any size: sentences of real texts, and vectors drawn around real vectors."""

import io
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.speed.indexing import write_first_lines
from benchmarks.speed.resembling import Resembling
from benchmarks.speed.sentences import sentences_in
from cdesearch import __version__
from cdesearch.context.document import add_document_context
from cdesearch.context.vectors import Floats
from cdesearch.progress import Silent
from cdesearch.store.checksums import MANIFEST, write_checksums
from cdesearch.store.file_account import FILES, OUTCOMES, FileRecord, Outcome, write_files
from cdesearch.store.index import CONTEXT, Index
from cdesearch.store.manifest import Manifest
from cdesearch.store.schema import Chunk, chunk_schema, chunk_to_row, document_schema
from cdesearch.store.vector_format import DEFAULT, VectorKind
from indexer.build import build
from indexer.files.opening import hash_contents
from indexer.generations.generation import open_building, swap_in
from indexer.generations.lock import locked
from indexer.generations.tables import Tables
from indexer.settings import Options

SPREAD = (
    0.6  # length of the noise added to a unit vector: neighbours have a cosine of about .85, as near-duplicates have
)
ROWS = 10_000
DOCUMENT_WEIGHT = 0.6  # of the default model
SOURCE_DOCUMENTS = 600
SOURCE_INDEX = "index"  # in the folder of `source_index`
LIKE = "like.txt"  # the file that names the index whose vectors are resembled, for another process

TextsAndVectors = tuple[list[str], Floats]  # texts and their unit vectors (n, d)


def source_index(corpus: Path, folder: Path) -> Index:
    """A real index of the first documents of a BEIR folder, to draw from."""
    folder.mkdir(parents=True)
    first = write_first_lines(corpus, folder / "corpus.jsonl", SOURCE_DOCUMENTS)
    build([first], Options(index=folder / SOURCE_INDEX), Silent())
    return Index(folder / SOURCE_INDEX)


def reduced_index(folder: Path, dimension: int) -> None:
    """Write an index of the documents of `source_index` in `folder`, with vectors of fewer dimensions."""
    options = Options(index=folder / f"{SOURCE_INDEX}-{dimension}", dimension=dimension)
    build([folder / "corpus.jsonl"], options, Silent())


@dataclass(frozen=True, slots=True)
class Material:
    """What texts and vectors are drawn from."""

    source: Index
    sentences: Sequence[str] | None = None  # default: those of `source`
    resembles: bool = False  # whether vectors are drawn between near neighbours in `source`, which has many

    def vectors(self) -> Callable[[int, np.random.Generator], Floats]:
        """The function that draws a number of unit vectors (n, d)."""
        real = self._read(self.source.vectors.columns)
        vectors = self.source.vectors_in(real)
        return Resembling(vectors).draw if self.resembles else partial(_around, vectors)

    def _read(self, columns: Sequence[str]) -> pa.Table:
        chunks = self.source.chunks
        return chunks.search().select(list(columns)).limit(chunks.count_rows()).to_arrow()

    def all_sentences(self) -> Sequence[str]:
        """The sentences to draw from."""
        return sentences_in(self._read(["text"])["text"].to_pylist()) if self.sentences is None else self.sentences


def draw(material: Material, n_chunks: int, seed: int = 0) -> Iterator[TextsAndVectors]:
    """Batches of `n_chunks` in all: sentences in new combinations, and vectors."""
    sentences, vectors = material.all_sentences(), material.vectors()
    random = np.random.default_rng(seed)
    for start in range(0, n_chunks, ROWS):
        n = min(ROWS, n_chunks - start)
        drawn = random.integers(len(sentences), size=(n, 4))
        yield [". ".join(sentences[number] for number in row) for row in drawn], vectors(n, random)


def write_drawn(source: Index, folder: Path, n_chunks: int) -> None:
    """Write the batches of `draw` as files that any system can read: texts.jsonl and vectors.npy (n, d)."""
    folder.mkdir(parents=True)
    dimension = source.manifest.dimension
    vectors = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, (n_chunks, dimension))
    start = 0
    with (folder / "texts.jsonl").open("w", encoding="utf-8") as file:
        for texts, some in draw(Material(source), n_chunks):
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


def grow(source: Index, folder: Path, batches: Iterable[TextsAndVectors], kind: VectorKind = DEFAULT) -> Index:
    """Write an index of texts and vectors, which are stored as `kind`, with the model and context of `source`."""
    with locked(folder, wait=False):
        building, tables = _begin(source, folder, kind)
        n_chunks = 0
        for texts, vectors in batches:
            rows = [chunk_to_row(_chunk(number, text)) for number, text in enumerate(texts, n_chunks)]
            tables.add(pa.RecordBatch.from_pylist(rows, schema=chunk_schema(None)), vectors)
            n_chunks += len(texts)
        tables.write_documents(document_schema().empty_table())
        tables.finish()
        _publish(folder, building, _manifest(source, n_chunks, kind), ())
    return Index(folder)


def grow_folder(
    material: Material, folder: Path, n_files: int, chunks_per_file: int, kind: VectorKind = DEFAULT
) -> Index:
    """Write text files of drawn texts, 1,000 in each subfolder, and their index in `folder`/.cdesearch.

    `chunks_per_file` divides ROWS. A new build would divide the files at other places, but an update does not read
    unchanged files. Vectors that resemble those of an index get no document context, because the source has it.
    """
    index, source = folder / ".cdesearch", material.source
    with locked(index, wait=False):
        building, tables = _begin(source, index, kind)
        records, n_written = [], 0
        for texts, vectors in draw(material, n_files * chunks_per_file):
            rows: list[dict[str, str]] = []
            for start in range(0, len(texts), chunks_per_file):
                some, stop = texts[start : start + chunks_per_file], start + chunks_per_file
                record = _write_text(folder, n_written, some)
                records.append(record)
                if not material.resembles:
                    vectors[start:stop] = add_document_context(vectors[start:stop], DOCUMENT_WEIGHT)
                chunks = (_chunk(n_written * chunks_per_file + k, text, record.path, k) for k, text in enumerate(some))
                rows += map(chunk_to_row, chunks)
                n_written += 1
            tables.add(pa.RecordBatch.from_pylist(rows, schema=chunk_schema(None)), vectors)
        tables.write_documents(_documents(records, chunks_per_file))
        tables.finish()
        manifest = _manifest(source, n_files * chunks_per_file, kind)
        files: dict[Outcome, int] = {**dict.fromkeys(OUTCOMES, 0), "indexed": n_files}
        grown = replace(manifest, sources=(".",), n_documents=n_files, updated=time.time(), files=files)
        _publish(index, building, grown, records)
    return Index(index)


def _begin(source: Index, folder: Path, kind: VectorKind) -> tuple[Path, Tables]:
    """The folder of a new generation in the context of `source`, and its tables, which are empty."""
    building = open_building(folder, None, {"synthetic": True})
    source.context.save(building / CONTEXT)
    return building, Tables(building, replace(source.vectors, kind=kind))


def _publish(folder: Path, building: Path, manifest: Manifest, files: Sequence[FileRecord]) -> None:
    write_files(files, building / FILES)
    manifest.save(building / MANIFEST)
    write_checksums(building, None)
    swap_in(folder, building)


def _write_text(folder: Path, number: int, texts: Sequence[str]) -> FileRecord:
    """Write one file that was last changed an hour ago, which is long enough for its time to be trusted."""
    path = f"{number // 1000:03}/{number:06}.txt"
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    content = "\n\n".join(texts).encode()
    file.write_bytes(content)
    changed = int(time.time() - 3600) * 10**9
    os.utime(file, ns=(changed, changed))
    return FileRecord(path, "indexed", "", len(content), changed, hash_contents(io.BytesIO(content)))


def _documents(records: Sequence[FileRecord], n_chunks: int) -> pa.Table:
    rows = [
        {
            "id": record.path,
            "path": record.path,
            "title": "",
            "size": record.size,
            "mtime_ns": record.mtime_ns,
            "file_hash": record.file_hash,
            "n_chunks": n_chunks,
            "n_records": 1,
        }
        for record in records
    ]
    return pa.Table.from_pylist(rows, schema=document_schema())


def _around(vectors: Floats, n: int, random: np.random.Generator) -> Floats:
    d = vectors.shape[1]
    drawn = vectors[random.integers(len(vectors), size=n)]
    drawn = drawn + random.standard_normal((n, d), np.float32) * np.float32(SPREAD / d**0.5)
    unit: Floats = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


def _chunk(number: int, text: str, file: str | None = None, ordinal: int = 0) -> Chunk:
    """A chunk of a file, or a record with its own document if there is none."""
    return Chunk(
        id=f"{number:032x}",
        document_id=file or f"synthetic.jsonl#{number}",
        record=None if file else str(number),
        ordinal=ordinal,
        path=file or "synthetic.jsonl",
        title="",
        trail=(),
        text=text,
        body_start=0,
        line_start=None,
        line_end=None,
        page=None,
    )


def _manifest(source: Index, n_chunks: int, kind: VectorKind) -> Manifest:
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
        vectors=kind,
        is_reduced=made.is_reduced,
        context_chunks=n_chunks,
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
