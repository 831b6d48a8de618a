"""Repair a damaged index from its sound parts."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from cdesearch.errors import IndexDamagedError, IndexMismatchError, IndexUntrustedError
from cdesearch.progress import Display
from cdesearch.store.checksums import MANIFEST, ChecksumsError, read_checksums, write_checksums
from cdesearch.store.file_account import FILES, read_files, write_files
from cdesearch.store.filesystem import link_or_copy
from cdesearch.store.folder import (
    MARK,
    MARKER,
    check_marker,
    finished_generations,
    lost_settings_remedy,
    removal_remedy,
    write_new,
)
from cdesearch.store.index import CONTEXT
from cdesearch.store.lance_manifest import NAMES
from cdesearch.store.manifest import Manifest
from cdesearch.store.open_tables import connect
from cdesearch.store.schema import document_schema
from cdesearch.store.trust import require_own
from cdesearch.store.vector_format import VectorFormat
from cdesearch.store.write_errors import write_error
from indexer.build import Report, build
from indexer.generations.generation import discard, open_building, swap_in
from indexer.generations.ledger import is_readable, own_generations, save
from indexer.generations.lock import locked
from indexer.generations.tables import Tables
from indexer.health.doctor import Diagnosis, Examined, diagnose
from indexer.settings import Options

# Files that are derived from the rows of the chunks table, or not needed to read them.
DERIVED = (
    "tables/chunks.lance/_indices",
    "tables/chunks.lance/_transactions/",
    "tables/chunks.lance/_versions/latest_version_hint.json",
)
LISTS = ("tables/documents.lance", FILES)  # the next update writes these again from the sources
BATCH = 4096  # chunks that are copied together


def repair(folder: Path, wait: bool, progress: Display, report_step: Callable[[str], None]) -> None:
    """Make the index in `folder` sound with as little new work as possible; each step is passed to `report_step`.

    The marker and the list of generations are written again. Search indexes are built again from the chunks. If chunks,
    context or manifest are damaged, the previous generation is made live and updated. Failing that, the index is built
    again from its sources with its own settings. Raises IndexDamagedError if even the settings are lost.
    """
    options = Options(index=folder, wait=wait)
    _restore_marker(folder, report_step)
    with locked(folder, wait):
        if not is_readable(folder):
            save(folder, [one.name for one in own_generations(folder)])
            report_step("The list of generations was written again from their folders.")
        found = diagnose(folder, progress)
        if found.is_sound:
            return
        whole = next((one for one in found.others if one.is_sound), None)
        unverified: Path | None = None
        if found.live and _has_sound_chunks(found.live):
            needs_update = _rebuild_from_chunks(folder, found.live, progress, report_step)
        elif whole:
            swap_in(folder, whole.generation)
            report_step("The previous generation is whole, and is live again.")
            needs_update = True
        elif found.live and found.live.manifest:
            if not found.live.has_checksums:
                unverified = found.live.generation
                write_checksums(unverified, None)  # without them, the settings could not be read
                report_step("Without checksums, the stored files cannot be verified.")
            options = replace(options, rebuild=True)
            report_step("The index is built again from its sources, with its own settings.")
            needs_update = True
        else:
            raise _lost(found)
    if needs_update:
        try:
            report = build([], options, progress)
        except IndexDamagedError:
            if options.rebuild:
                raise
            report_step("That generation cannot be updated. The index is built again from its sources.")
            report = build([], replace(options, rebuild=True), progress)
        if unverified:  # else its new checksums would later say that it is sound
            discard(folder, unverified)
        report_step(_result(report))


def _restore_marker(folder: Path, report_step: Callable[[str], None]) -> None:
    """Write a missing or damaged marker again, without which no run locks the folder, if its generations are certain.

    Raises IndexStateError if none of them is one of this format, or if the index belongs to another user, and
    StorageError.
    """
    try:
        check_marker(folder)
    except IndexDamagedError as error:
        if not any(map(_is_of_this_format, finished_generations(folder))):
            raise IndexDamagedError(error.cause, removal_remedy(folder)) from None
        require_own(folder)
        try:
            write_new(folder / MARKER, MARK)
        except OSError as refused:
            raise write_error(folder, refused) from None
        report_step("The marker of the index was written again.")


def _is_of_this_format(generation: Path) -> bool:
    try:
        return MANIFEST in read_checksums(generation) and bool(Manifest.load(generation / MANIFEST))
    except (ChecksumsError, IndexDamagedError, IndexMismatchError, IndexUntrustedError):
        return False


def _has_sound_chunks(live: Examined) -> bool:
    return (
        live.manifest is not None
        and live.has_checksums
        and all(damage.file.startswith((*DERIVED, *LISTS)) for damage in live.damages)
    )


def _rebuild_from_chunks(folder: Path, live: Examined, progress: Display, report_step: Callable[[str], None]) -> bool:
    """Copy the chunks into a new generation and index them again; returns whether an update has to follow."""
    manifest = live.manifest
    assert manifest is not None
    has_lists = not any(damage.file.startswith(LISTS) for damage in live.damages)
    building = open_building(folder, None, {"mends": live.generation.name})
    shutil.rmtree(building / "tables", ignore_errors=True)  # left by a repair that was stopped
    database = connect(live.generation, NAMES if has_lists else {"chunks.lance"})
    chunks = database.open_table("chunks")
    tables = Tables(building, VectorFormat(manifest.vectors, manifest.dimension), manifest.text_language)
    advance = progress.stage("Copying chunks", manifest.n_chunks)
    for batch in _batches(chunks):
        tables.chunks.add(batch)
        advance(batch.num_rows)
    documents = database.open_table("documents").to_arrow() if has_lists else _documents_of(chunks)
    tables.write_documents(documents)
    progress.stage("Indexing words", None)
    tables.finish(has_all_vectors=manifest.is_complete)
    (building / CONTEXT).unlink(missing_ok=True)  # left by a repair that was stopped
    if manifest.n_vectors != 0:  # the first stage of a build has no context
        link_or_copy(live.generation / CONTEXT, building / CONTEXT)
    write_files(list(read_files(live.generation)) if has_lists else [], building / FILES)
    replace(manifest, n_documents=documents.num_rows).save(building / MANIFEST)
    write_checksums(building, None)
    swap_in(folder, building)
    report_step("The search indexes were built again from the chunks; nothing was embedded.")
    if not has_lists:
        report_step("The lists of documents and files are written again from the sources.")
    return not has_lists


def _batches(chunks: Any) -> Iterator[pa.Table]:
    columns = chunks.schema.names
    reader = chunks.search().select(columns).limit(chunks.count_rows()).to_batches(BATCH)
    for batch in reader:
        yield pa.Table.from_batches([batch]).select(columns)


def _documents_of(chunks: Any) -> pa.Table:
    """The documents of the chunks. Their files count as changed, so that the next update reads them."""
    rows = chunks.search().select(["document_id", "path"]).limit(chunks.count_rows()).to_arrow()
    lengths = Counter(zip(rows["document_id"].to_pylist(), rows["path"].to_pylist(), strict=True))
    unknown = {"title": "", "size": -1, "mtime_ns": 0, "file_hash": "", "n_records": 1}
    documents = [{"id": name, "path": path, "n_chunks": n, **unknown} for (name, path), n in lengths.items()]
    return pa.Table.from_pylist(documents, schema=document_schema())


def _lost(found: Diagnosis) -> IndexDamagedError:
    cause = found.problem or f"The index in {found.folder} is damaged: {found.damages[0]}."
    return IndexDamagedError(
        f"{cause} Its settings are lost, and no generation of it is whole.", lost_settings_remedy(found.folder)
    )


def _result(report: Report) -> str:
    if not report.changed:
        return "It is up to date."
    return f"It is up to date: {report.n_chunks:,} chunks, {report.embedded:,} of them embedded now."
