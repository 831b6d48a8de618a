"""Examine an index: compare files with their checksums and tables with the manifest, and try searches."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cdesearch.errors import (
    CdesearchError,
    IndexDamagedError,
    IndexNotFoundError,
    IndexStateError,
    IndexUnreadableError,
    IndexUntrustedError,
    is_panic,
)
from cdesearch.progress import Progress, Silent
from cdesearch.store.bucket_address import require_on_disk
from cdesearch.store.checksums import MANIFEST, ChecksumsError, read_checksums
from cdesearch.store.damage import Damage, find_damage, reason_of
from cdesearch.store.file_account import FILES, read_files
from cdesearch.store.folder import (
    CHECKSUMS,
    FOLDER,
    GENERATIONS,
    absolute,
    check_enterable,
    check_not_linked,
    check_tree,
    current_name,
    finished_generations,
    generations_in,
    reading,
    rebuild_command,
    rebuild_remedy,
    unreadable,
)
from cdesearch.store.index import CONTEXT, Index, current_generation
from cdesearch.store.lance_manifest import TABLES, check_tables
from cdesearch.store.manifest import Manifest
from cdesearch.store.open_tables import connect
from cdesearch.store.schema import chunk_schema
from cdesearch.store.trust import check_found
from cdesearch.store.vector_format import VECTOR_INDEX, VectorFormat
from indexer.generations.ledger import LEDGER, is_readable
from indexer.generations.tables import vector_index_from

BATCH = 4096  # vectors that are read together


@dataclass(frozen=True)
class Examined:
    """One finished generation and what is wrong with it."""

    generation: Path
    damages: tuple[Damage, ...]

    @property
    def is_sound(self) -> bool:
        """Whether every file is as it was written."""
        return not self.damages

    @cached_property
    def manifest(self) -> Manifest | None:
        """The manifest of the generation; None if it is damaged. Without checksums, it is read as it is."""
        if any(damage.file == MANIFEST for damage in self.damages):
            return None
        try:
            return Manifest.load(self.generation / MANIFEST)
        except IndexDamagedError:
            return None

    @property
    def has_checksums(self) -> bool:
        """Whether the files could be compared with their checksums."""
        return all(damage.file != CHECKSUMS for damage in self.damages)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of examining an index."""

    folder: Path
    problem: str  # why no generation is live, or what is wrong beside the generations; "" for neither
    live: Examined | None
    others: tuple[Examined, ...]  # finished generations that are not live, the newest first

    @property
    def damages(self) -> tuple[Damage, ...]:
        """The damages of the live generation."""
        return self.live.damages if self.live else ()

    @property
    def is_sound(self) -> bool:
        """Whether queries are answered as they were when the index was written."""
        return not self.problem and self.live is not None and self.live.is_sound


def locate(path: Path | None) -> Path:
    """The index folder at or in `path`, or the nearest one upward without a path; CURRENT may be missing.

    If `path` is a file, the folder that contains it is taken. Raises IndexNotFoundError, and IndexStateError for a
    folder that cannot be entered.
    """
    start = absolute(path or Path.cwd())
    require_on_disk(start, "doctor", f"A query names damaged objects. {rebuild_command(start)} writes all again.")
    check_enterable(start)
    start = start.parent if start.is_file() else start
    candidates = [start, start / FOLDER] if path else [parent / FOLDER for parent in (start, *start.parents)]
    for folder in candidates:
        if not os.path.lexists(folder):  # or it is in a folder above that cannot be entered, which is no obstacle
            continue
        if path is None:
            check_found(folder)
        check_enterable(folder)
        if (folder / GENERATIONS).is_dir():
            return folder
    where = f"{start}" if path else f"{start} or above it"
    raise IndexNotFoundError(f"There is no index in {where}.", "Make one with `cdesearch index FOLDER`.")


def diagnose(folder: Path, progress: Progress | None = None) -> Diagnosis:
    """Read every file of every finished generation and try the live one; raises IndexStateError if there is none.

    Raises IndexUnreadableError if the system refuses to read a file now, which says nothing about damage. Raises
    IndexUntrustedError if a generation contains links or names data elsewhere: it is then not damaged but
    forged, and neither read nor repaired. The files and chunks that were read are counted in stages of `progress`.
    """
    problem = ""
    check_not_linked(folder)
    check_not_linked(folder / GENERATIONS)
    try:
        current_generation(folder)
    except (IndexUnreadableError, IndexUntrustedError):
        raise
    except IndexStateError as error:
        problem = error.cause
    live, finished = _named_by_current(folder), finished_generations(folder)
    if problem and live is None and not finished:
        current_generation(folder)  # raises the error that was found
    progress = progress or Silent()
    others = [_examine(generation, progress) for generation in finished if generation != live]
    examined = _examine(live, progress) if live else None
    if examined and not examined.is_sound and _named_by_current(folder) not in (None, live):
        return diagnose(folder, progress)  # updates have replaced it meanwhile, and removed it
    others = [one for one in others if one.generation.exists()]  # updates may have removed some
    others.sort(key=lambda one: one.manifest.updated if one.manifest else 0, reverse=True)
    if examined and not examined.is_sound:
        problem = ""  # the list of damaged files is more specific
    elif examined and not problem:
        examined = Examined(examined.generation, tuple(_try(folder)))
        if not is_readable(folder):
            problem = f"{folder / LEDGER}, the list of generations, is missing or damaged."
    return Diagnosis(folder, problem, examined, tuple(others))


def _named_by_current(folder: Path) -> Path | None:
    """The live generation, damaged or not; None if CURRENT names none that exists."""
    try:
        name = current_name(folder)
    except (IndexDamagedError, IndexUntrustedError):
        return None
    generation = folder / GENERATIONS / name if name else None
    return generation if generation in generations_in(folder) else None


def _examine(generation: Path, progress: Progress) -> Examined:
    try:
        check_tree(generation)
    except FileNotFoundError:  # an update has removed it
        return Examined(generation, (Damage(CHECKSUMS, "is missing"),))
    except OSError as error:
        raise unreadable(generation, error) from None
    unsearchable: list[Damage] = []
    try:
        check_tables(generation)
    except IndexDamagedError as error:
        unsearchable = [Damage(TABLES, f"cannot be searched ({error.cause})")]
    try:
        checksums = read_checksums(generation)
    except ChecksumsError as error:
        return Examined(generation, (Damage(CHECKSUMS, str(error)),))
    advance = progress.stage(f"Checking files of generation {generation.name}", len(checksums))
    damages = list(find_damage(generation, checksums, lambda *_: True, is_complete=True, advance=advance))
    if not damages and not unsearchable:
        advance = progress.stage(f"Reading chunks of generation {generation.name}", None)
        damages = list(_unreadable_rows(generation, advance))
    return Examined(generation, tuple(damages or unsearchable))


def _unreadable_rows(generation: Path, advance: Callable[[int], None]) -> Iterator[Damage]:
    """The tables and the list of files that cannot be read, although every file is as it was written."""
    readings: dict[str, Callable[[], object]] = {
        f"{TABLES}/chunks.lance": lambda: _read_chunks(generation, advance),
        f"{TABLES}/documents.lance": lambda: _exhaust(_batches(generation, "documents")),
        FILES: lambda: _exhaust(read_files(generation)),
    }
    for file, read in readings.items():
        try:
            with reading(generation / file):
                read()
        except IndexUnreadableError:
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            cause = error.cause if isinstance(error, CdesearchError) else f"cannot be read ({reason_of(error)})"
            yield Damage(file, cause.removeprefix(f"{generation / file} ").removesuffix("."))


def _read_chunks(generation: Path, advance: Callable[[int], None]) -> None:
    """Read every column of every chunk; raises IndexDamagedError for other columns, or if a vector is not finite."""
    manifest = Manifest.load(generation / MANIFEST)
    vectors = VectorFormat(manifest.vectors, manifest.dimension)
    if not connect(generation).open_table("chunks").schema.equals(chunk_schema(vectors)):
        raise IndexDamagedError("has other columns than the manifest says.", rebuild_remedy(generation.parent.parent))
    for batch in _batches(generation, "chunks"):
        if not np.isfinite(vectors.decode(batch)).all():
            raise IndexDamagedError("holds vectors that are not numbers.", rebuild_remedy(generation.parent.parent))
        advance(batch.num_rows)


def _exhaust(rows: Iterable[object]) -> None:
    for _ in rows:
        pass


def _batches(generation: Path, name: str) -> Iterator[Any]:
    table = connect(generation).open_table(name)
    return iter(table.search().limit(table.count_rows()).to_batches(BATCH))


def _try(folder: Path) -> Iterator[Damage]:
    """The faults that remain although every file is as it was written."""
    try:
        with reading(folder):
            yield from _faults(Index(folder))
    except IndexUnreadableError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        cause = error.cause if isinstance(error, CdesearchError) else reason_of(error)
        yield Damage("tables", f"cannot be searched ({cause})")


def _faults(index: Index) -> Iterator[Damage]:
    """The tables whose rows, indexes or answers are not those that the manifest leads to expect."""
    manifest = index.manifest
    for name, table, expected in (
        ("chunks", index.chunks, manifest.n_chunks),
        ("documents", index.documents, manifest.n_documents),
    ):
        if table.count_rows() != expected:
            yield Damage(f"tables/{name}.lance", f"has {table.count_rows():,} rows instead of {expected:,}")
    yield from _missing_indexes(index.chunks, manifest)
    yield from _unanswered(index)


def _missing_indexes(chunks: Any, manifest: Manifest) -> Iterator[Damage]:
    least = vector_index_from(VectorFormat(manifest.vectors, manifest.dimension))
    has_vector_index = manifest.is_complete and manifest.n_chunks >= least
    wanted = ["text_idx", *([VECTOR_INDEX] if has_vector_index else [])]
    for name in wanted:
        stats = chunks.index_stats(name)
        if stats is None:
            yield Damage("tables/chunks.lance/_indices", f"has no {name}")
        elif stats.num_unindexed_rows:
            yield Damage("tables/chunks.lance/_indices", f"lacks {stats.num_unindexed_rows:,} rows in {name}")


def _unanswered(index: Index) -> Iterator[Damage]:
    """Search for a chunk by its own words and by its vector, and report a search that does not find it."""
    chunks, stored = index.chunks, index.vectors
    row = chunks.search().select(["text", *stored.columns]).limit(1).to_arrow()
    words = " ".join(row["text"][0].as_py().split()[:20])
    if any(map(str.isalnum, words)) and not chunks.search(words, query_type="fts").limit(1).to_list():
        yield Damage("tables/chunks.lance/_indices", "does not find a chunk by its words")
    if index.manifest.n_vectors == 0:
        return
    # In a stage of an unfinished build a chunk without a vector has zeros, which no search finds.
    (vector,) = stored.decode(row)
    search = chunks.search(stored.sought(vector), vector_column_name=stored.searched).distance_type(stored.distance)
    if vector.any() and not search.limit(1).to_list():
        yield Damage("tables/chunks.lance/_indices", "does not find a chunk by its vector")
    if index.context.sample_vectors.shape[1] != stored.dimension:
        yield Damage(CONTEXT, "has vectors of another dimension than the chunks")
