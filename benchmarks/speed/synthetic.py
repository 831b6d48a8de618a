"""Synthetic indexes of any size: sentences of real texts in new combinations, and vectors drawn around real ones."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from cdesearch import __version__
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.encode.token_signs import N_BYTES
from cdesearch.progress import Silent
from cdesearch.store.checksums import MANIFEST, write_checksums
from cdesearch.store.file_account import FILES, OUTCOMES, write_files
from cdesearch.store.index import CONTEXT, Index
from cdesearch.store.schema import Chunk, chunk_schema, chunk_to_row, document_schema
from indexer.build import build
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.generations.generation import open_building, swap_in
from indexer.generations.lock import locked
from indexer.generations.tables import Tables
from indexer.settings import Options
from trainer.data.pairs.beir import read_queries, read_texts

TOKENS_STORED = 120  # of a chunk, for late interaction: about half of those of 200 words

SOURCE_DOCUMENTS = 600
ROWS = 10_000  # texts in a batch
QUERIES = 210
SPREAD = 0.6  # length of the noise added to a unit vector: neighbours have a cosine of .85, as near-duplicates have
SHORTEST = 20  # characters of a sentence

Batch = tuple[list[str], Floats]  # texts and their unit vectors (n, d)


def _draw(index: Index, n_chunks: int) -> Iterator[Batch]:
    """Batches of `n_chunks` in all: sentences of the index in new combinations, and vectors."""
    vectors = index.vectors_in(_read(index, index.vectors.columns))
    texts = _read(index, ["text"])["text"].to_pylist()
    sentences = [part for text in texts for part in text.split(". ") if len(part) > SHORTEST]
    random = np.random.default_rng(0)
    for start in range(0, n_chunks, ROWS):
        n = min(ROWS, n_chunks - start)
        drawn = random.integers(len(sentences), size=(n, 4))
        yield [". ".join(sentences[number] for number in row) for row in drawn], _around(vectors, n, random)


def corpus_file(corpus: Path) -> Path:
    """The JSONL file of a BEIR folder, or the file itself."""
    return corpus / "corpus.jsonl" if corpus.is_dir() else corpus


def search_queries(corpus: Path) -> list[str]:
    """The first queries of the folder; for a corpus without queries, the first words of its texts."""
    if (corpus / "queries.jsonl").is_file():
        return list(read_queries(corpus).values())[:QUERIES]
    return [" ".join(text.split()[:8]) for text in read_texts(corpus_file(corpus)).values()][:QUERIES]


def _around(vectors: Floats, n: int, random: np.random.Generator) -> Floats:
    d = vectors.shape[1]
    drawn = vectors[random.integers(len(vectors), size=n)]
    return to_unit(drawn + random.standard_normal((n, d), np.float32) * np.float32(SPREAD / d**0.5))


def _read(index: Index, columns: Sequence[str]) -> pa.Table:
    return index.chunks.search().select(list(columns)).limit(index.chunks.count_rows()).to_arrow()


def source_index(corpus: Path, folder: Path) -> Path:
    """The folder of a real index of the first documents of a BEIR folder, to draw from."""
    folder.mkdir(parents=True)
    first = folder / "corpus.jsonl"
    with corpus_file(corpus).open(encoding="utf-8") as lines:
        first.write_text("".join(islice(lines, SOURCE_DOCUMENTS)), encoding="utf-8")
    build([first], Options(index=folder / "index"), Silent())
    return folder / "index"


def grow(source: Path, index: Path, n_chunks: int) -> Index:
    """Write an index of drawn texts and vectors, with the model and the context of `source`; no file has them."""
    made, random = Index(source), np.random.default_rng(0)
    with locked(index, wait=False):
        building = open_building(index, None, {"synthetic": True})
        made.context.save(building / CONTEXT)
        stored_as = made.vectors
        tables = Tables(building, stored_as)
        cache = EmbeddingCache(building, stored_as.first_stage_schema(stored_as.dimension), index)
        numbers = count()
        for texts, vectors in _draw(made, n_chunks):
            chunks = [_chunk(number, text) for text, number in zip(texts, numbers, strict=False)]
            rows = pa.RecordBatch.from_pylist(list(map(chunk_to_row, chunks)), schema=chunk_schema(None))
            tokens = [random.bytes(TOKENS_STORED * N_BYTES) for _ in texts]
            tables.add(rows, vectors, tokens)
            cache.add(dict(zip(rows["content_hash"].to_pylist(), zip(vectors, tokens, strict=True), strict=True)))
        tables.write_documents(document_schema().empty_table())
        tables.finish()
        if stored_as.keeps_first_stage:
            cache.tidy(n_chunks, list)
        else:
            cache.drop()
        _publish(index, building, made, n_chunks)
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


def _publish(index: Path, building: Path, source: Index, n_chunks: int) -> None:
    """Complete the generation with a manifest like that of the source, and make it the current one."""
    manifest = replace(
        source.manifest,
        cdesearch=__version__,
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
