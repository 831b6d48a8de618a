"""Build or update the index of files and folders: lock it, complete the settings, plan, and run the build."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from cdesearch.encode.backends.endpoint import EmbeddingServer
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import check_model, check_plain_model
from cdesearch.errors import CdesearchError, InputError
from cdesearch.models.endpoint_model import EndpointModel
from cdesearch.progress import Display
from cdesearch.store.copies import address_of_copies
from cdesearch.store.folder import is_older
from cdesearch.store.index import Index
from cdesearch.store.known import remember
from cdesearch.store.layout import FOLDER, still_answering
from cdesearch.store.place import Place, for_kind
from cdesearch.terminal import counted
from indexer.chosen_model import check_model_fits, complete_model
from indexer.generations.lock import Target, open_target
from indexer.job import BuildJob
from indexer.places import index_place, local_source, note_outer_index
from indexer.plan import Plan, plan_build
from indexer.read_files import Engine, local_engine
from indexer.settings import Options, Settings, complete_settings, record_confirmation
from indexer.staleness import staleness
from indexer.summary import Report
from indexer.warm import Warm
from indexer.workers.pool import Pool, worker_count

LOCAL_UPDATE = "Only a new index, --rebuild and --refresh-context use the cluster. This update runs on this machine."


def build(places: Sequence[Place], options: Options, progress: Display, tools: Warm | None = None) -> Report:
    """Index files and folders, or update their index; without any, the nearest index upward. Raises CdesearchError.

    After Ctrl-C or a kill, finished embeddings and the old index are kept, and the next run continues. A process that
    makes several updates passes its own `tools`.
    """
    started, begun = time.time(), time.monotonic()
    if options.engine == "ray":
        from indexer.cluster.session import check_cluster  # other builds need none of the cluster's modules

        check_cluster(options.address, options.workers)
    elif options.address is not None or options.workers is not None:
        raise InputError("--address and --workers are those of a cluster.", "Add --engine ray.")
    place = index_place(places, options.index)
    if not places and isinstance(place, Path) and place.name == FOLDER and is_older(place):
        places = [place.parent]  # the sources that it names cannot be read
    paths = [local_source(one, progress) for one in places]
    opened = for_kind(place, open_target, "indexer.publishing:published")
    with opened(progress, has_paths=bool(paths), rebuild=options.rebuild, wait=options.wait) as target:
        stored = target.stored(paths, rebuild=options.rebuild)
        options = replace(options, model=complete_model(options.model, stored, place, progress))
        settings = complete_settings(paths, options, stored, place)
        others = (one for one in settings.sources if one not in (*paths, *settings.missing))
        for address in filter(None, map(address_of_copies, others)):
            local_source(address, progress)
        remember(target.place)  # now, so that `clear --everything` knows of a build that has not ended
        _note_before(paths, options, stored, target, settings, progress)
        run = _Run(target, stored, settings, options, started, progress, tools or Warm())
        plan, embedded = run.update()
        renewed = None if options.keeps_context else run.renew_context()
        if renewed is not None and renewed[1] is not None:
            embedded = (embedded or 0) + renewed[1]
    note = record_confirmation(place, settings.trust_request)
    return Report.of(target.place, target.folder, plan, embedded, begun, note, renewed and renewed[0])


@dataclass(frozen=True, slots=True)
class _Run:
    """The inputs of one run."""

    target: Target
    stored: Index | None
    settings: Settings
    options: Options
    started: float  # seconds since the epoch
    progress: Display
    tools: Warm

    @property
    def _base(self) -> Index | None:
        """The generation that this run updates."""
        # A stage of an unfinished build cannot be the base, because the complete index will have another context.
        is_complete = self.stored is not None and self.stored.manifest.is_complete
        return self.stored if is_complete and not self.options.rebuild else None

    def update(self) -> tuple[Plan, int | None]:
        """Plan and run one build; also returns how many texts were embedded, None if no document has changed."""
        base, settings = self._base, self.settings
        check_model(settings.model)
        if self.options.plain:
            check_plain_model(settings.model)
        if base is not None:
            base.checks.require_all_changed()
        new_context = base is None or self.options.refresh_context
        keeps_chunks = base is not None and not (new_context and base.manifest.embeds_on_refresh)
        # A process starts while files are looked for, and others while the model loads.
        with base.checks.reporting_damage() if base else nullcontext(), self.tools.pool() as pool:
            plan = plan_build(settings, base if keeps_chunks else None, self.progress, rewrites=new_context)
            pool.grow(worker_count(plan.to_read))
            encoder = self.tools.encoder(settings.model, self.options.device, plain=settings.plain)
            if new_context and encoder.remark:
                self.progress.note(encoder.remark)
            check_model_fits(encoder, self.options.model, settings.model_name, base)
            if plan.is_empty and base is not None and not new_context and settings.are_those_of(base.manifest):
                return plan, None
            with self._engine(encoder, pool, new_context=new_context) as engine:
                inputs = self.target, base, new_context, settings, plan, encoder, self.started
                job = BuildJob(*inputs, engine, self.progress)
                return plan, job.run()

    def renew_context(self) -> tuple[str, int | None] | None:
        """Sample a new context if that of the updated index no longer fits it, and no text must be embedded for that.

        Returns a line that says so or why it failed, and how many texts of files that have changed meanwhile were
        embedded; None for the number if it failed.
        """
        index = Index(self.target.folder)
        reason = staleness(index.manifest)
        if reason is None or index.manifest.embeds_on_refresh:
            return None
        options = replace(self.options, rebuild=False, refresh_context=True, engine="local")
        try:
            _, embedded = replace(self, stored=index, options=options).update()
        except CdesearchError as error:  # the update is complete, and the next one tries again
            return f"{reason} A new one could not be sampled: {error}", None
        told = f"{counted(embedded, 'text')} had" if embedded else "no text had"
        return f"{reason} So a new one was sampled, and {told} to be embedded again.", embedded or 0

    @contextmanager
    def _engine(self, encoder: Encoder, pool: Pool, *, new_context: bool) -> Iterator[Engine]:
        if self.options.engine == "ray" and new_context:
            from indexer.cluster.engine import cluster_engine  # other builds need none of the cluster's modules

            pool.close()
            with cluster_engine(self.options, self.settings, encoder, self.progress) as engine:
                yield engine
            return
        if self.options.engine == "ray":
            self.progress.note(LOCAL_UPDATE)
        yield local_engine(pool, encoder)


def _note_before(
    paths: Sequence[Path],
    options: Options,
    stored: Index | None,
    target: Target,
    settings: Settings,
    progress: Display,
) -> None:
    """Say what the user may not expect of a run. Raises InputError for a URL of a server that is not valid."""
    if stored is not None:
        for source in settings.missing:
            progress.note(still_answering(source, settings.sources, target.place))
    if options.index is None:
        if stored is None:
            note_outer_index(target.folder, progress)
        elif target.folder.parent not in (paths or [Path.cwd()]):
            progress.note(f"Updating {target.place}")
    if options.rebuild and stored is None:
        _note_replaced_settings(target.place, options, settings, progress)
    if isinstance(settings.model, EndpointModel):
        server = EmbeddingServer.of(settings.model.url, settings.model.name)
        if not server.is_local:
            is_open = "" if server.is_https else ", without encryption"
            progress.note(f"The texts of the indexed files are sent to {server.server}{is_open}.")


def _note_replaced_settings(place: Place, options: Options, settings: Settings, progress: Display) -> None:
    """Say which settings of an index a rebuild of named paths replaces by the defaults."""
    with suppress(CdesearchError, OSError):  # an index that cannot be read is rebuilt as well
        before = Index(place).manifest
        replaced = {
            f"the model {before.model or 'default'}": options.model is None and before.model != settings.model_name,
            f"vectors in {before.vectors}": options.vectors is None and before.vectors != settings.vectors,
        }
        if had := ", ".join(name for name, is_replaced in replaced.items() if is_replaced):
            progress.note(
                f"The index had {had}, which the defaults replace. `cdesearch index --rebuild` without a path keeps all"
                " settings."
            )
