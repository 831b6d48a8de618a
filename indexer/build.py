"""A folder to an index, top to bottom."""

import errno
import os
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cdesearch import __version__
from cdesearch.checksums import MANIFEST, write_checksums
from cdesearch.context import Context
from cdesearch.document_context import to_unit
from cdesearch.encoder import Encoder, check_model, load_encoder
from cdesearch.errors import IndexNotFoundError, InputError, SourceError
from cdesearch.files import FILES, FileRecord, Outcome, write_files
from cdesearch.index import CONTEXT, Index
from cdesearch.index_folder import CURRENT, absolute, check_nothing_lost
from cdesearch.manifest import Manifest
from cdesearch.schema import chunk_schema
from cdesearch.trust import Asked, confirm
from indexer.context import make_context, measure
from indexer.fill import fill
from indexer.formats.records import Columns
from indexer.generation import discard, open_building, swap_in
from indexer.locked import locked
from indexer.own_vectors import TABLE, OwnVectors, own_vectors_schema
from indexer.plan import Plan, Record, make_plan
from indexer.progress import Progress
from indexer.reading.limits import Limits
from indexer.reading.pool import Batch, Begun, Pool, Reading, worker_count
from indexer.settings import Options, Settings, index_folder, settle
from indexer.spool import Spool
from indexer.walk import Skipped, find_sources
from indexer.write import Tables

LIMITS = Limits()
BARE_CONTEXT = "context.bare.safetensors"  # before its statistics, until the build is whole


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did."""

    folder: Path
    n_documents: int
    n_chunks: int
    embedded: int
    skipped: tuple[Skipped, ...]
    in_part: tuple[Skipped, ...]  # indexed without the lines that could not be read
    dropped: tuple[Skipped, ...]  # still there, but no longer in the index
    n_files: dict[str, int]  # that were indexed, ignored and skipped
    seconds: float
    size_bytes: int
    changed: bool
    note: str | None = None  # what else its user should know


def build(paths: Sequence[Path], options: Options, progress: Progress) -> Report:
    """Index `paths`, or bring their index up to date; no paths: the nearest index upward. Raises CdesearchError.

    Ctrl-C or a kill keeps what is embedded, and the old index until the new one is whole; the next run continues.
    """
    started = time.time()
    paths = [_existing(absolute(path)) for path in paths]
    folder = index_folder(paths, options)
    if not paths and not os.path.lexists(folder / CURRENT):
        check_nothing_lost(folder)
        raise IndexNotFoundError(f"There is no index in {folder} yet.", "Name what is to be indexed as well.")
    with locked(folder, options.wait):
        stored = _stored(folder, paths, options)
        settings = settle(paths, options, stored, folder)
        base = None if options.rebuild else stored
        check_model(settings.model)
        if base is not None:
            base.checks.require_all_changed()
        with base.checks.explaining() if base else nullcontext():
            plan = _plan(settings, None if options.refresh_context else base, progress)
            with Pool(worker_count(plan.to_read)) as pool:  # its processes start while the model loads
                encoder = load_encoder(settings.model, options.device)
                if base is not None:
                    base.check_encoder(encoder)
                embedded = None
                if base is None or options.refresh_context or not plan.is_empty:
                    embedded = _run(folder, base, plan, pool, settings, options, encoder, started, progress)
        index = Index(folder)
        return Report(
            folder=folder,
            n_documents=index.manifest.n_documents,
            n_chunks=index.manifest.n_chunks,
            embedded=embedded or 0,
            skipped=plan.skipped,
            in_part=plan.in_part,
            dropped=plan.dropped,
            n_files=plan.counts,
            seconds=time.time() - started,
            size_bytes=index.size_bytes(),
            changed=embedded is not None,
            note=_confirmed(folder, settings.asked),
        )


def _existing(path: Path) -> Path:
    try:
        path.stat()
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            raise SourceError(f"{path} cannot be read (permission denied).", "Ask for the right to read it.") from None
        raise SourceError(f"There is no folder or file {path}.", "Check the spelling.") from None
    return path


def _confirmed(folder: Path, asked: Asked) -> str | None:
    """Record what was typed in this run, or confirmed before; returns what to say where that is not possible."""
    if asked.is_nothing:
        return None
    try:
        confirm(folder, asked)
    except (InputError, OSError) as error:
        return f"Later commands will ask for the model or folders of this index again: {error}"
    return None


def _stored(folder: Path, paths: Sequence[Path], options: Options) -> Index | None:
    """The index as it is, whose settings hold where nothing else is asked for; a rebuild of named paths forgets it."""
    if options.rebuild and paths:
        return None
    if not (folder / CURRENT).is_file():
        check_nothing_lost(folder)
        return None
    return Index(folder)


def _plan(settings: Settings, base: Index | None, progress: Progress) -> Plan:
    found = find_sources(settings.sources, settings.root, settings.max_file_bytes)
    reads_alike = base is not None and Columns(**base.manifest.columns) == settings.columns
    return make_plan(found, base, progress.stage("Looking for files", None), read_all=not reads_alike)


def _run(
    folder: Path,
    base: Index | None,
    plan: Plan,
    pool: Pool,
    settings: Settings,
    options: Options,
    encoder: Encoder,
    started: float,
    progress: Progress,
) -> int | None:
    """Make the next generation and swap it in; returns how many chunks went through the model.

    None: no document has changed, though other files may have been seen.
    """
    linked = None if base is None or options.refresh_context else base.generation
    columns = {"chunks": chunk_schema(encoder.dimension), TABLE: own_vectors_schema(encoder.dimension)}
    building = open_building(folder, linked, _key(encoder, settings, options, base), columns)
    (building / "spool.arrow").unlink(missing_ok=True)  # never opened for writing: it may have a second name elsewhere
    spool = Spool(building / "spool.arrow")
    reading = Reading(
        encoder.tokenizer.to_str(), encoder.max_chunk_tokens, settings.columns, settings.max_file_bytes, LIMITS
    )
    fresh = _read_all(plan, spool, pool, reading, progress)
    pool.close()
    if base is not None and linked is not None and not fresh and not plan.gone:
        if plan.has_news:
            _finish(folder, building, linked, plan, _remembered(base, settings, plan, started))
        else:
            discard(folder, building)
        return None
    records = plan.kept + fresh
    if not any(record["n_chunks"] for record in records):
        discard(folder, building)
        raise SourceError(f"Nothing readable in {', '.join(map(str, settings.sources))}.", _why(plan))
    last = base if linked else None
    tables = Tables(building, encoder.dimension)
    own = OwnVectors(building, encoder.dimension, last, encoder.config.document_weight)
    kept = {record["path"] for record in plan.kept}
    if last is None:
        bare = _bare_context(building / BARE_CONTEXT, spool, encoder, settings, base, progress)
        measured = partial(_measured, building / CONTEXT, bare, spool, own, encoder)
        fill(tables, spool, own, kept, None, encoder, bare, measured, progress)
        _place_sample(building / CONTEXT, tables)
    else:
        fill(tables, spool, own, kept, last, encoder, last.context_for(encoder), None, progress)
    context = Context.load(building / CONTEXT)
    progress.stage("Indexing words", None)
    tables.write_documents(records)
    manifest = _manifest(folder, base, settings, encoder, context, plan, records, started)
    records.clear()  # a million of them are a gigabyte, and the indexes need memory now
    tables.finish()
    _finish(folder, building, linked, plan, manifest)
    return own.embedded


def _finish(folder: Path, building: Path, linked: Path | None, plan: Plan, manifest: Manifest) -> None:
    """Write what describes the generation, and make it the live one."""
    (building / FILES).unlink(missing_ok=True)  # a link to the last generation's
    write_files(list(plan.files.values()), building / FILES)
    manifest.save(building / MANIFEST)
    (building / "spool.arrow").unlink()
    (building / BARE_CONTEXT).unlink(missing_ok=True)
    write_checksums(building, linked)
    swap_in(folder, building)


def _key(encoder: Encoder, settings: Settings, options: Options, base: Index | None) -> dict[str, Any]:
    """What must be the same for an unfinished build to be continued: above all, whatever makes its context."""
    key: dict[str, Any] = {"model": encoder.fingerprint, "base": base.generation.name if base else None}
    if base is None or options.refresh_context:
        key |= {
            "seed": settings.seed,
            "context_size": settings.context_size,
            "sources": sorted(map(str, settings.sources)),
        }
    return key


def _read_all(plan: Plan, spool: Spool, pool: Pool, reading: Reading, progress: Progress) -> list[Record]:
    """Read and chunk what the plan says, into the spool; returns the records of what was read.

    The plan's files learn what became of them.
    """
    advance = progress.stage("Reading", len(plan.to_read))
    records: list[Record] = []
    first, file_hash = 0, None
    for event in pool.read(plan.to_read, reading):
        source = event.source
        if isinstance(event, Begun):
            file_hash = event.file_hash
        elif isinstance(event, Batch):
            spool.add(event.chunks)
            # Size and time are from before the reading: a change in between shows next time.
            stamp = {
                "path": source.path,
                "size": source.size,
                "mtime_ns": source.mtime_ns,
                "file_hash": file_hash,
            }
            records += [document | stamp for document in event.documents]
        else:
            outcome: Outcome = "indexed" if event.reason is None else "skipped"
            if event.reason is not None:
                spool.drop(source.path)
                del records[first:]
            plan.files[source.path] = FileRecord(
                source.path, outcome, event.reason or event.note, source.size, source.mtime_ns, file_hash
            )
            first, file_hash = len(records), None
            advance(1)
    spool.close()
    return records


def _bare_context(
    file: Path,
    spool: Spool,
    encoder: Encoder,
    settings: Settings,
    base: Index | None,
    progress: Progress,
) -> Context:
    """The sample of a build that was stopped, or a fresh one."""
    if not file.is_file():
        size = settings.context_size or encoder.context_size
        _save(make_context(spool, encoder, size, settings.seed, base.context if base else None, progress), file)
    return Context.load(file)


def _measured(file: Path, bare: Context, spool: Spool, own: OwnVectors, encoder: Encoder) -> Context:
    """The context with its statistics, kept: a build that was stopped may have placed chunks by them."""
    if not file.is_file():
        _save(measure(bare, spool, own, encoder), file)
    return Context.load(file)


def _save(context: Context, file: Path) -> None:
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    context.save(fresh)
    fresh.replace(file)


def _place_sample(file: Path, tables: Tables) -> None:
    """Give the sampled chunks the vectors that the table holds: what a query's cosines are compared with."""
    context = Context.load(file)
    held = tables.vectors_of(context.chunk_ids)
    vectors = [held[chunk] for chunk in context.chunk_ids if chunk in held]  # a build that was stopped may lose some
    if vectors:
        _save(replace(context, sample_vectors=to_unit(np.stack(vectors))), file)


def _manifest(
    folder: Path,
    base: Index | None,
    settings: Settings,
    encoder: Encoder,
    context: Context,
    plan: Plan,
    records: list[Record],
    started: float,
) -> Manifest:
    root = settings.root
    return Manifest(
        cdesearch=__version__,
        model=settings.model_name,
        model_fingerprint=encoder.fingerprint,
        context_fingerprint=context.fingerprint,
        context_size=len(context.chunk_ids),
        context_limit=settings.context_size or encoder.context_size,
        seed=context.seed,
        dimension=encoder.dimension,
        max_tokens=encoder.max_tokens,
        root=_stored_root(folder, root),
        sources=tuple(source.relative_to(root).as_posix() for source in settings.sources),
        columns=asdict(settings.columns),
        max_file_bytes=settings.max_file_bytes,
        n_documents=len(records),
        n_chunks=sum(record["n_chunks"] for record in records),
        has_parts=any(record["n_records"] > 1 for record in records),
        created=base.manifest.created if base else started,
        updated=started,
        files=plan.counts,
    )


def _remembered(base: Index, settings: Settings, plan: Plan, started: float) -> Manifest:
    """The manifest of a generation that holds the same documents as `base` and knows more of other files."""
    return replace(
        base.manifest,
        sources=tuple(source.relative_to(settings.root).as_posix() for source in settings.sources),
        columns=asdict(settings.columns),
        max_file_bytes=settings.max_file_bytes,
        updated=started,
        files=plan.counts,
    )


def _stored_root(folder: Path, root: Path) -> str:
    """Relative where it lies in the index's parent, so that both can be moved together."""
    return Path("..", root.relative_to(folder.parent)).as_posix() if root.is_relative_to(folder.parent) else str(root)


def _why(plan: Plan) -> str:
    if plan.skipped:
        first = plan.skipped[0]
        return f"{len(plan.skipped)} skipped, the first: {first.path} ({first.reason})."
    ignored = next((file for file in plan.files.values() if file.outcome == "ignored"), None)
    if ignored is not None:
        return f"{plan.counts['ignored']} ignored, the first: {ignored.path} ({ignored.reason})."
    return "Its files hold no text." if plan.files else "There is no file in it."
