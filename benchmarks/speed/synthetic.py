"""Synthetic indexes of any size, written by the parts of a build that follow the model."""

import io
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pyarrow as pa

from benchmarks.speed.material import Batch, corpus_file
from cdesearch import __version__
from cdesearch.progress import Silent
from cdesearch.store.checksums import MANIFEST, write_checksums
from cdesearch.store.file_account import FILES, OUTCOMES, FileRecord, Outcome, write_files
from cdesearch.store.index import CONTEXT, Index
from cdesearch.store.schema import Chunk, chunk_schema, chunk_to_row, document_schema
from cdesearch.store.vector_format import DEFAULT, VectorKind
from indexer.build import build
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.files.opening import hash_contents
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


def grow(
    source: Path, folder: Path, batches: Iterable[Batch], kind: VectorKind = DEFAULT, chunks_per_file: int | None = None
) -> Index:
    """Write an index of texts and vectors, stored as `kind`, with the model and the context of the index `source`.

    Without `chunks_per_file`, the texts are records of no file, and the index is `folder`. Otherwise text files of so
    many chunks are written as well, 1,000 in each subfolder, and the index is in `folder`/.cdesearch. An update does
    not read files that are unchanged, so it does not matter that a new build would divide them at other places.
    """
    index, made = folder if chunks_per_file is None else folder / ".cdesearch", Index(source)
    with locked(index, wait=False):
        building = open_building(index, None, {"synthetic": True})
        made.context.save(building / CONTEXT)
        stored_as = replace(made.vectors, kind=kind)
        tables = Tables(building, stored_as)
        cache = EmbeddingCache(building, stored_as.first_stage_schema(stored_as.dimension), index)
        records: list[FileRecord] = []
        n_chunks = 0
        for texts, vectors in batches:
            if chunks_per_file is None:
                chunks = [_chunk(number, text) for number, text in enumerate(texts, n_chunks)]
            else:
                chunks = _write_files(folder, texts, chunks_per_file, n_chunks, records)
            rows = pa.RecordBatch.from_pylist(list(map(chunk_to_row, chunks)), schema=chunk_schema(None))
            tables.add(rows, vectors)
            cache.add(dict(zip(rows["content_hash"].to_pylist(), vectors, strict=True)))
            n_chunks += len(texts)
        tables.write_documents(_documents(records, chunks_per_file))
        tables.finish()
        if stored_as.keeps_first_stage:
            cache.tidy(n_chunks, list)
        else:
            cache.drop()
        _publish(index, building, made, kind, n_chunks, records)
    return Index(index)


def _write_files(
    folder: Path, texts: Sequence[str], chunks_per_file: int, n_before: int, records: list[FileRecord]
) -> list[Chunk]:
    """Write files of texts, and add their records; returns their chunks, of which `n_before` come before these."""
    chunks = []
    for start in range(0, len(texts), chunks_per_file):
        some = texts[start : start + chunks_per_file]
        records.append(_write_file(folder, len(records), some))
        first = n_before + start
        chunks += [_chunk(first + k, text, records[-1].path, k) for k, text in enumerate(some)]
    return chunks


def _write_file(folder: Path, number: int, texts: Sequence[str]) -> FileRecord:
    """Write one file that was last changed an hour ago, which is long enough for its time to be trusted."""
    path = f"{number // 1000:03}/{number:06}.txt"
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    content = "\n\n".join(texts).encode()
    file.write_bytes(content)
    changed = int(time.time() - 3600) * 10**9
    os.utime(file, ns=(changed, changed))
    return FileRecord(path, "indexed", "", len(content), changed, hash_contents(io.BytesIO(content)))


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


def _documents(records: Sequence[FileRecord], n_chunks: int | None) -> pa.Table:
    same = {"title": "", "n_chunks": n_chunks, "n_records": 1}
    named = ("path", "size", "mtime_ns", "file_hash")
    rows = [{"id": one.path, **{name: getattr(one, name) for name in named}, **same} for one in records]
    return pa.Table.from_pylist(rows, schema=document_schema())


def _publish(
    index: Path, building: Path, source: Index, kind: VectorKind, n_chunks: int, records: Sequence[FileRecord]
) -> None:
    """Complete the generation with a manifest like that of the source, and make it the current one."""
    files: dict[Outcome, int] = {**dict.fromkeys(OUTCOMES, 0), "indexed": len(records)}
    manifest = replace(
        source.manifest,
        cdesearch=__version__,
        vectors=kind,
        context_chunks=n_chunks,
        root="..",
        sources=(".",) if records else (),
        columns={},
        n_documents=len(records),
        n_chunks=n_chunks,
        has_parts=False,
        updated=time.time(),
        files=files,
    )
    write_files(records, building / FILES)
    manifest.save(building / MANIFEST)
    write_checksums(building, None)
    swap_in(index, building)
