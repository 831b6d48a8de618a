"""Synthetic indexes of any size, written by the parts of a build that follow the model."""

import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pyarrow as pa

from benchmarks.speed.material import Batch, corpus_file
from cdesearch import __version__
from cdesearch.progress import Silent
from cdesearch.store.checksums import MANIFEST, write_checksums
from cdesearch.store.file_account import FILES, OUTCOMES, write_files
from cdesearch.store.index import CONTEXT, Index
from cdesearch.store.schema import Chunk, chunk_schema, chunk_to_row, document_schema
from cdesearch.store.vector_format import DEFAULT, VectorKind
from indexer.build import build
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.generations.generation import open_building, swap_in
from indexer.generations.lock import locked
from indexer.generations.tables import Tables
from indexer.settings import Options

SOURCE_DOCUMENTS = 600


def source_index(corpus: Path, folder: Path) -> Path:
    """The folder of a real index of the first documents of a BEIR folder, to draw from."""
    folder.mkdir(parents=True)
    first = folder / "corpus.jsonl"
    with corpus_file(corpus).open(encoding="utf-8") as lines:
        first.write_text("".join(islice(lines, SOURCE_DOCUMENTS)), encoding="utf-8")
    build([first], Options(index=folder / "index"), Silent())
    return folder / "index"


def grow(source: Path, index: Path, batches: Iterable[Batch], kind: VectorKind = DEFAULT) -> Index:
    """Write an index of texts and vectors, stored as `kind`, with the model and the context of the index `source`.

    The texts are records of no file.
    """
    made = Index(source)
    with locked(index, wait=False):
        building = open_building(index, None, {"synthetic": True})
        made.context.save(building / CONTEXT)
        stored_as = replace(made.vectors, kind=kind)
        tables = Tables(building, stored_as)
        cache = EmbeddingCache(building, stored_as.first_stage_schema(stored_as.dimension), index)
        n_chunks = 0
        for texts, vectors in batches:
            chunks = [_chunk(number, text) for number, text in enumerate(texts, n_chunks)]
            rows = pa.RecordBatch.from_pylist(list(map(chunk_to_row, chunks)), schema=chunk_schema(None))
            tables.add(rows, vectors)
            cache.add(dict(zip(rows["content_hash"].to_pylist(), vectors, strict=True)))
            n_chunks += len(texts)
        tables.write_documents(document_schema().empty_table())
        tables.finish()
        if stored_as.keeps_first_stage:
            cache.tidy(n_chunks, list)
        else:
            cache.drop()
        _publish(index, building, made, kind, n_chunks)
    return Index(index)


def _chunk(number: int, text: str) -> Chunk:
    """A record with its own document."""
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


def _publish(index: Path, building: Path, source: Index, kind: VectorKind, n_chunks: int) -> None:
    """Complete the generation with a manifest like that of the source, and make it the current one."""
    manifest = replace(
        source.manifest,
        cdesearch=__version__,
        vectors=kind,
        context_chunks=n_chunks,
        root="..",
        sources=(),
        columns={},
        n_documents=0,
        n_chunks=n_chunks,
        has_parts=False,
        updated=time.time(),
        files=dict.fromkeys(OUTCOMES, 0),
    )
    write_files([], building / FILES)
    manifest.save(building / MANIFEST)
    write_checksums(building, None)
    swap_in(index, building)
