"""Whiten vectors, add document context, and write fragments of the table of chunks, which the driver commits once."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa

from cdesearch.context.document import add_document_context
from cdesearch.context.whitening import Whitening
from cdesearch.store.filesystem import sync
from cdesearch.store.schema import chunk_schema
from cdesearch.store.vector_format import VectorFormat
from indexer.cluster.parts import FRAGMENTS, Part, Parts, put_whole
from indexer.cluster.places import places_of, vectors_at
from indexer.embedding.document_vectors import document_rows, whole_documents
from indexer.embedding.spool import KEY

FRAGMENT_CHUNKS = 65_536  # at least; a fragment holds whole parts, and so whole documents


@dataclass(frozen=True, slots=True)
class Fragment:
    """Parts whose chunks become one fragment of the table."""

    name: str
    start: int  # the number of its first chunk
    stop: int


@dataclass(frozen=True, slots=True)
class Target:
    """What all fragments have in common."""

    table: str  # the folder of the Lance table
    storage_version: str
    vectors: VectorFormat
    files: Sequence[str]  # the names of the files of vectors
    whitening: Whitening
    document_weight: float


def fragments_of(parts: Sequence[Part], fingerprint: str) -> Iterator[Fragment]:
    """Divide the corpus into fragments; `fingerprint` is that of the fitted context."""
    names: list[str] = []
    start = stop = 0
    for number, part in enumerate(parts, start=1):
        names.append(part.name)
        stop += part.n_chunks
        if stop > start and (stop - start >= FRAGMENT_CHUNKS or number == len(parts)):
            digest = blake2b(" ".join([fingerprint, *names]).encode(), digest_size=16)
            yield Fragment(digest.hexdigest(), start, stop)
            names, start = [], stop


def write_fragment(parts: Parts, fragment: Fragment, target: Target) -> list[str]:
    """Write the chunks of a fragment, unless an earlier task has done it; returns Lance's descriptions of its files."""
    described = parts.folder / FRAGMENTS / f"{fragment.name}.json"
    with suppress(OSError, ValueError):  # there is none, or a power failure has left a part of it
        return list(json.loads(described.read_bytes()))
    from lance_ray.fragment import write_fragment as write_lance

    schema = chunk_schema(target.vectors)
    rows = _encoded(parts, fragment, target, schema)
    written = write_lance(rows, target.table, schema=schema, data_storage_version=target.storage_version)
    for one, _ in written:
        for file in one.files:  # flushed first: a power failure must not leave a description of files that it has cut
            sync(Path(target.table, "data", file.path))
    described_files = [json.dumps(one.to_json()) for one, _ in written]
    put_whole(described, json.dumps(described_files).encode())
    return described_files


def _encoded(parts: Parts, fragment: Fragment, target: Target, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of the table, whole documents at a time."""
    number = fragment.start
    for rows in whole_documents(parts.between(fragment.start, fragment.stop)):
        places = places_of(parts.folder, number, number + rows.num_rows)
        vectors = target.whitening.apply(vectors_at(parts.folder, target.files, places))
        for start, stop in document_rows(rows):
            vectors[start:stop] = add_document_context(vectors[start:stop], target.document_weight)
        columns = rows.drop_columns([KEY]).columns
        yield pa.Table.from_arrays([*columns, *target.vectors.arrays(vectors)], schema=schema)
        number += rows.num_rows


def storage_version(table: Path) -> str:
    """The version of the format in which Lance stores a table."""
    import lance

    return str(lance.dataset(str(table)).data_storage_version)


def commit(table: Path, fragments: Sequence[str]) -> None:
    """Add fragments to an empty table in one commit."""
    import lance
    from lance.fragment import FragmentMetadata

    dataset = lance.dataset(str(table))
    from_json: Callable[[str], Any] = FragmentMetadata.from_json
    added = lance.LanceOperation.Append([from_json(one) for one in fragments])
    lance.LanceDataset.commit(str(table), added, read_version=dataset.version)
