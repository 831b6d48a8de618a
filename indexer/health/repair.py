"""Repair a damaged index from its sound parts."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from cdesearch.errors import IndexDamagedError, IndexMismatchError, IndexUntrustedError
from cdesearch.progress import Display
from cdesearch.store.checksums import MANIFEST, ChecksumsError, read_checksums, write_checksums
from cdesearch.store.file_account import FILES
from cdesearch.store.filesystem import link_or_copy
from cdesearch.store.folder import check_marker, finished_generations, removal_remedy, write_new
from cdesearch.store.guard import TABLES
from cdesearch.store.index import CONTEXT
from cdesearch.store.layout import CHECKSUMS, MARK, MARKER, lost_settings_remedy
from cdesearch.store.manifest import Manifest
from cdesearch.store.storage import connect
from cdesearch.store.trust import require_own
from cdesearch.store.vector_format import VectorFormat
from cdesearch.store.vocabulary import VOCABULARY
from cdesearch.store.write_errors import write_error
from indexer.build import build
from indexer.generations.generation import ONLY_FIRST_STAGE, open_building, swap_in
from indexer.generations.lock import locked
from indexer.generations.tables import Tables
from indexer.health.doctor import diagnose
from indexer.settings import Options
from indexer.summary import Report

# Files that are derived from the rows of the chunks table, or not needed to read them.
DERIVED = (
    "tables/chunks.lance/_indices",
    "tables/chunks.lance/_transactions/",
    "tables/chunks.lance/_versions/latest_version_hint.json",
)
BATCH = 4096  # chunks that are copied together


def repair(folder: Path, wait: bool, progress: Display, report_step: Callable[[str], None]) -> None:
    """Make the index in `folder` sound with as little new work as possible; each step is passed to `report_step`.

    The marker is written again. Search indexes are built again from the chunks. If chunks,
    context or manifest are damaged, the previous generation is made live and updated. Failing that, the index is built
    again from its sources with its own settings. Raises IndexDamagedError if even the settings are lost.
    """
    _restore_marker(folder, report_step)
    options, unverified = Options(index=folder, wait=wait), None
    with locked(folder, wait):
        found = diagnose(folder, progress)
        live, manifest = found.live, found.live.manifest if found.live else None
        if found.is_sound:
            return
        if live and manifest and live.has_checksums and all(one.file.startswith(DERIVED) for one in live.damages):
            _rebuild_from_chunks(folder, live.generation, manifest, progress)
            report_step("The search indexes were built again from the chunks; nothing was embedded.")
            return
        if whole := next((one for one in found.others if one.is_sound), None):
            swap_in(folder, whole.generation)
            report_step("The previous generation is whole, and is live again.")
        elif live and manifest:
            options = replace(options, rebuild=True)
            if not live.has_checksums:
                unverified = live.generation
                write_checksums(unverified, None)  # without them, the settings could not be read
                report_step("Without checksums, the stored files cannot be verified.")
            report_step("The index is built again from its sources, with its own settings.")
        else:
            cause = found.problem or f"The index in {folder} is damaged: {found.damages[0]}."
            cause += " Its settings are lost, and no generation of it is whole."
            raise IndexDamagedError(cause, lost_settings_remedy(folder))
    try:
        report = build([], options, progress)
    finally:
        if unverified:  # its new checksums would later say that it is sound
            (unverified / CHECKSUMS).unlink(missing_ok=True)
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


def _rebuild_from_chunks(folder: Path, live: Path, manifest: Manifest, progress: Display) -> None:
    """Copy the rows of the tables into a new generation and index them again."""
    building = open_building(folder, live, {"mends": live.name}, parts=ONLY_FIRST_STAGE)
    shutil.rmtree(building / TABLES / "chunks.lance", ignore_errors=True)  # left by a repair that was stopped
    database = connect(live)
    chunks = database.open_table("chunks")
    tables = Tables(building, VectorFormat(manifest.vectors, manifest.dimension))
    advance = progress.stage("Copying chunks", manifest.n_chunks)
    columns = chunks.schema.names
    for batch in chunks.search().select(columns).limit(chunks.count_rows()).to_batches(BATCH):
        tables.chunks.add(pa.Table.from_batches([batch]).select(columns))
        advance(batch.num_rows)
    tables.write_documents(database.open_table("documents").to_arrow())
    progress.stage("Indexing words", None)
    tables.finish(has_all_vectors=manifest.is_complete)
    for name in (CONTEXT, FILES, MANIFEST, VOCABULARY):
        (building / name).unlink(missing_ok=True)  # left by a repair that was stopped
        if (live / name).is_file():
            link_or_copy(live / name, building / name)
    write_checksums(building, None)
    swap_in(folder, building)


def _result(report: Report) -> str:
    if not report.changed:
        return "It is up to date."
    return f"It is up to date: {report.chunks:,} chunks, {report.embedded:,} of them embedded now."
