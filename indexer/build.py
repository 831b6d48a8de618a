"""Build or update the index of files and folders: lock it, complete the settings, plan, and run the build."""

import errno
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from cdesearch.encode.backends.endpoint import EmbeddingServer
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import check_model, check_plain_model
from cdesearch.errors import CdesearchError, IndexNotFoundError, InputError, ModelError, SourceError
from cdesearch.models.added_context import has_added_context
from cdesearch.models.endpoint_model import DEFAULT_NAME, EndpointModel
from cdesearch.progress import Display, Progress
from cdesearch.search.corpus_languages import unfit_text_language, unread_languages
from cdesearch.store.bucket_address import address_of, address_of_copies
from cdesearch.store.filesystem import is_available
from cdesearch.store.folder import CURRENT, absolute, check_nothing_lost, rebuild_command
from cdesearch.store.fresh_build import still_answering
from cdesearch.store.index import Index
from indexer.chosen_model import check_named_model, complete_model
from indexer.files.bucket_copies import copy_from_buckets
from indexer.files.outcome import Skipped, portable
from indexer.files.selection import Selection
from indexer.files.unchanged import Unchanged
from indexer.files.walk import find_sources
from indexer.formats.format import Columns
from indexer.generations.lock import locked
from indexer.job import BuildJob
from indexer.nested import note_inner_indexes, note_outer_index
from indexer.places import index_folder
from indexer.plan import Plan, make_plan, records_of
from indexer.publishing.working_copy import WorkingCopy, usable_copy
from indexer.settings import Options, Settings, complete_settings, record_confirmation
from indexer.staleness import advice
from indexer.warm import Fresh, Tools
from indexer.workers.pool import worker_count

LOCAL_UPDATE = "Only a new index, --rebuild and --refresh-context use the cluster. This update runs on this machine."


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a run, for the summary that `cdesearch index` prints."""

    folder: Path  # of the index; for one in a bucket, the folder that stands for it
    written: Path  # the folder in which the run wrote; it differs from `folder` for an index in a bucket
    n_documents: int
    n_chunks: int
    embedded: int  # texts that went through the model
    skipped: tuple[Skipped, ...]
    in_part: tuple[Skipped, ...]  # files that are indexed without the parts that could not be read
    dropped: tuple[Skipped, ...]  # files that still exist, but are no longer in the index
    n_files: dict[str, int]  # by outcome: indexed, ignored, skipped
    seconds: float
    size_bytes: int
    changed: bool
    advice: str | None = None  # a line that advises a new context
    languages: dict[str, float] = field(default_factory=dict)  # the share of the chunks in each, by its code
    note: str | None = None  # a line about confirmations of this index that were recorded, or could not be

    @property
    def language_notes(self) -> tuple[str, ...]:
        """Lines about languages that the model does not read, or that full text does not stem; none without a change.

        The models in the cache are listed only for this.
        """
        index = Index(self.written)
        return tuple(filter(None, (unread_languages(index), unfit_text_language(index)))) if self.changed else ()

    @property
    def n_without_text(self) -> int:
        """How many documents have no text. The table of the live generation is opened only for this."""
        return int(Index(self.written).documents.count_rows("n_chunks = 0"))


def build(paths: Sequence[Path], options: Options, progress: Display, tools: Tools | None = None) -> Report:
    """Index `paths`, or update their index; without paths, the nearest index upward. Raises CdesearchError.

    After Ctrl-C or a kill, finished embeddings and the old index are kept, and the next run continues. A process that
    makes several updates passes its own `tools`.
    """
    started, begun = time.time(), time.monotonic()
    _check_engine(options)
    paths = [absolute(path) for path in paths]
    if options.index is None and any(map(address_of_copies, paths)):
        raise InputError("An index of files in a bucket needs a place.", "Name one: --index DIR, or an address.")
    copy_from_buckets(paths, progress)
    paths = [_existing(path) for path in paths]
    named = index_folder(paths, options.index)
    address = address_of(named)
    folder = named if address is None else usable_copy(address)
    if address is None:
        _check_stored(named, folder, paths)
    with locked(folder, options.wait):
        copy, described = None, folder
        if address is not None:
            copy = WorkingCopy(address, progress, replaces=options.rebuild and bool(paths))
            described = copy.update(is_needed=not options.rebuild)
            if described == folder:
                _check_stored(named, folder, paths)
        stored = _stored(described, paths, options)
        if stored is not None and options.index is None and folder.parent not in (paths or [Path.cwd()]):
            progress.note(f"Updating {folder}")
        with _offering_default(folder, options):
            options = replace(options, model=complete_model(options.model, stored, folder, progress))
            settings = complete_settings(paths, options, stored, folder)
        others = [one for one in settings.sources if one not in (*paths, *settings.missing)]
        copy_from_buckets(others if options.changed is None else (), progress)
        if stored is not None:
            for source in settings.missing:
                progress.note(still_answering(source, settings.sources, folder, stored.manifest))
        elif options.index is None:
            note_outer_index(folder, progress)
        if options.rebuild and stored is None:
            _note_replaced_settings(folder, options, settings, progress)
        if isinstance(settings.model, EndpointModel):
            _note_server(settings.model, progress)
        # A stage of an unfinished build cannot be the base, because the complete index will have another context.
        base = None if options.rebuild or (stored and not stored.manifest.is_complete) else stored
        run = _Run(folder, base, settings, options, started, progress, tools or Fresh())
        plan, embedded = run.update()
        if new := [source for source in settings.sources if stored is None or source not in stored.sources]:
            note_inner_indexes(folder, new, (settings.root / path for path in plan.files), progress)
        if copy is not None:
            copy.publish()
        return _report(named, folder, plan, embedded, begun, record_confirmation(folder, settings.trust_request))


def _check_stored(named: Path, folder: Path, paths: Sequence[Path]) -> None:
    """Raise IndexNotFoundError if there is nothing to update in `folder`, which the user calls `named`."""
    if not paths and not os.path.lexists(folder / CURRENT):
        check_nothing_lost(folder)
        raise IndexNotFoundError(f"There is no index in {named} yet.", "Name the files or folders to index as well.")


def _note_replaced_settings(folder: Path, options: Options, settings: Settings, progress: Display) -> None:
    """Say which settings of an index a rebuild of named paths replaces by the defaults."""
    with suppress(CdesearchError, OSError):  # an index that cannot be read is rebuilt as well
        before = Index(folder).manifest
        replaced = []
        if options.model is None and before.model != settings.model_name:
            replaced.append(f"the model {before.model or 'default'}")
        if options.vectors is None and before.vectors != settings.vectors:
            replaced.append(f"vectors in {before.vectors}")
        if options.dimension is None and before.is_reduced:
            replaced.append(f"{before.dimension} dimensions")
        if replaced:
            progress.note(
                f"The index had {', '.join(replaced)}, which the defaults replace. `cdesearch index --rebuild` without"
                " a path keeps all settings."
            )


def _note_server(model: EndpointModel, progress: Display) -> None:
    """Say that texts leave this machine, unless the server is on it; raises InputError for a URL that is not valid."""
    server = EmbeddingServer.of(model.url, model.name)
    if not server.is_local:
        is_open = "" if server.is_https else ", without encryption"
        progress.note(f"The texts of the indexed files are sent to {server.server}{is_open}.")


@dataclass(frozen=True, slots=True)
class _Run:
    """The inputs of one run."""

    folder: Path
    base: Index | None
    settings: Settings
    options: Options
    started: float  # seconds since the epoch
    progress: Display
    tools: Tools

    def update(self) -> tuple[Plan, int | None]:
        """Plan and run one build; also returns how many texts were embedded, None if no document has changed."""
        base, settings = self.base, self.settings
        with _offering_default(self.folder, self.options):
            check_model(settings.model)
        if self.options.plain:
            check_plain_model(settings.model)
        if base is not None:
            base.checks.require_all_changed()
        new_context = base is None or self.options.refresh_context
        with base.checks.reporting_damage() if base else nullcontext():
            plan = _plan(settings, None if new_context else base, self.progress)
            # The processes start while the model loads.
            with self.tools.pool(worker_count(plan.to_read)) as pool:
                with _offering_default(self.folder, self.options):
                    encoder = self.tools.encoder(settings.model, self.options.device, plain=settings.plain)
                if new_context and encoder.remark:
                    self.progress.note(encoder.remark)
                if base is not None:
                    _check_added_context(base, settings, encoder)
                    if encoder.fingerprint != base.manifest.model_fingerprint:
                        check_named_model(self.options.model, base)
                    base.check_encoder(encoder)
                _check_dimension(settings, encoder)
                if plan.is_empty and base is not None and not new_context and settings.are_those_of(base.manifest):
                    return plan, None
                job = BuildJob(self.folder, base, new_context, settings, plan, encoder, self.started, self.progress)
                if self.options.engine == "ray" and new_context:
                    from indexer.cluster_job import run_on_cluster

                    options = self.options
                    return plan, run_on_cluster(job, pool, options.device, options.address, options.workers)
                if self.options.engine == "ray":
                    self.progress.note(LOCAL_UPDATE)
                return plan, job.run(pool)


@contextmanager
def _offering_default(folder: Path, options: Options) -> Iterator[None]:
    """Add to the error of a model that only the index names that the default model can take its place."""
    try:
        yield
    except ModelError as error:
        if options.model is not None or not (folder / CURRENT).exists():
            raise
        command = rebuild_command(folder, model=DEFAULT_NAME)
        if command in error.remedy:
            raise
        remedy = f"{error.remedy} {command} embeds all texts with the model that ships instead."
        raise type(error)(error.cause, remedy) from None


def _check_engine(options: Options) -> None:
    """Raise InputError or ClusterError if the engine cannot be used, for a reason that shows without a connection."""
    if options.engine == "ray":
        from indexer.cluster.address import check_cluster  # other builds need none of the cluster's modules

        check_cluster(options.address, options.workers)
    elif options.address is not None or options.workers is not None:
        raise InputError("--address and --workers are those of a cluster.", "Add --engine ray.")


def _check_added_context(base: Index, settings: Settings, encoder: Encoder) -> None:
    """Raise InputError if this run and the index differ in whether the corpus adds to the same model."""
    manifest = base.manifest
    if settings.model_name == manifest.model and has_added_context(encoder.config) != manifest.added_context:
        raise InputError(
            f"The index was built {'without' if manifest.added_context else 'with'} --plain.",
            "Embed all texts again with the other settings of the index:"
            f" {rebuild_command(base.folder, **{'plain' if manifest.added_context else 'no-plain': None})}.",
        )


def _check_dimension(settings: Settings, encoder: Encoder) -> None:
    """Raise InputError if vectors would have more dimensions than those of the model."""
    dimension, most = settings.dimension, encoder.dimension
    if dimension is not None and dimension > most:
        raise InputError(
            f"The vectors of this model have {most} dimensions, not {dimension}.", f"Choose a --dimension up to {most}."
        )


def _report(folder: Path, written: Path, plan: Plan, embedded: int | None, begun: float, note: str | None) -> Report:
    index = Index(written)
    return Report(
        folder=folder,
        written=written,
        n_documents=index.manifest.n_documents,
        n_chunks=index.manifest.n_chunks,
        embedded=embedded or 0,
        skipped=plan.skipped,
        in_part=plan.in_part,
        dropped=plan.dropped,
        n_files=plan.counts,
        seconds=time.monotonic() - begun,
        size_bytes=index.size_bytes(),
        changed=embedded is not None,
        languages=index.manifest.languages,
        advice=advice(index.folder, index.manifest) if embedded is not None else None,
        note=note,
    )


def _existing(path: Path) -> Path:
    try:
        path.stat()
        is_readable = os.access(path, os.R_OK | os.X_OK if path.is_dir() else os.R_OK)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM):
            raise SourceError(f"There is no folder or file {path}.", "Check the spelling.") from None
        is_readable = False
    if not is_readable:
        remedy = "Correct its permissions, or ask its owner for access."
        raise SourceError(f"{path} cannot be read (permission denied).", remedy)
    return path


def _stored(folder: Path, paths: Sequence[Path], options: Options) -> Index | None:
    """The stored index, whose settings are the defaults of this run; None if a rebuild of named paths ignores them."""
    if options.rebuild and paths:
        return None
    if address_of(folder) is None and not (folder / CURRENT).is_file():
        check_nothing_lost(folder)
        return None
    return Index(folder)


def _plan(settings: Settings, base: Index | None, progress: Progress) -> Plan:
    present = [source for source in settings.sources if source not in settings.missing]
    is_read_alike = base is not None and (Columns(**base.manifest.columns), base.manifest.has_ocr) == (
        settings.columns,
        settings.has_ocr,
    )
    before = records_of(base)
    unchanged = None
    if settings.changed is not None and is_read_alike and base is not None and settings.select_as(base.manifest):
        unchanged = Unchanged.since(before, settings.changed, settings.root)
    selection = Selection(settings.max_file_bytes, settings.globs, settings.source_globs, settings.has_ocr)
    found = find_sources(present, settings.root, selection, unchanged)
    absent = [portable(source, settings.root) for source in settings.missing]
    seen = progress.stage("Looking for files", None)
    plan = make_plan(found, base, seen, read_all=not is_read_alike, absent=absent, before=before)
    for source in present:
        # Otherwise, all of its documents would be removed from the index.
        if not is_available(source, was_mount=source in settings.mounts):
            raise SourceError(f"{source} disappeared while its files were listed.", "Run the same command again.")
    return plan
