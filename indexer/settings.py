"""The settings of a run: the options of a caller, completed by the settings of an existing index."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path

from cdesearch.encode.load import Device
from cdesearch.errors import InputError, extra_remedy
from cdesearch.models.endpoint_model import EndpointModel, Model
from cdesearch.store.index import Index
from cdesearch.store.layout import rebuild_command
from cdesearch.store.manifest import MOST_CONTEXT, MOST_FILE_BYTES, Globs, Manifest
from cdesearch.store.place import Place
from cdesearch.store.trust import TrustRequest, check_confirmed, confirm, outside, trust_file
from cdesearch.store.vector_format import DEFAULT, KINDS, VectorKind
from indexer.chosen_model import model_to_open, stored_name
from indexer.files.ignore import Choice
from indexer.formats.format import Columns
from indexer.places import check_missing, joined_sources, missing_sources, mounted_sources, root_of

MAX_FILE_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a caller; None means the setting of the index, and for a new index the default."""

    index: Place | None = None  # as `chosen_place` takes it; None: `.cdesearch` in the folder of the documents
    model: Model | None = None  # None for a new index: the default model. An EndpointModel may lack what the index has
    plain: bool | None = None  # whether a published model is used as it is; None for a new index: no
    device: Device = "auto"
    columns: Columns = field(default_factory=Columns)
    max_file_bytes: int | None = None
    include: tuple[str, ...] | None = None  # globs; () removes those of the index
    exclude: tuple[str, ...] | None = None
    per_source: bool = False  # whether the globs are for the named folders alone, and replace those of the index there
    has_ocr: bool | None = None  # whether text in scanned pages and images is recognised
    vectors: VectorKind | None = None  # the kind in which vectors are stored, one of KINDS
    context_size: int | None = None  # in chunks; None for a new index: the size for which the model was trained
    seed: int | None = None
    rebuild: bool = False
    refresh_context: bool = False
    keeps_context: bool = False  # whether an update leaves a context that no longer fits, because time is short
    wait: bool = False
    engine: str = "local"  # or "ray": on a cluster
    address: str | None = None  # of a Ray cluster, or "auto"; None: one that is started on this machine
    workers: int | None = None  # of the cluster; None: as many as it has cores
    removed: tuple[Path, ...] = ()  # sources to remove from the index


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one run."""

    root: Path  # the paths of chunks are relative to it
    sources: tuple[Path, ...]
    missing: tuple[Path, ...]  # those of the sources that do not exist or are not mounted now; their documents stay
    model: Model | None  # to open
    model_name: str | None  # as the index stores it
    plain: bool  # whether nothing of the corpus is added to a published model
    trust_request: TrustRequest  # the model and folders that the user must confirm
    columns: Columns
    max_file_bytes: int
    globs: Globs
    source_globs: Mapping[Path, Globs]  # of sources that have globs of their own
    context_size: int | None
    seed: int
    has_ocr: bool
    vectors: VectorKind
    mounts: tuple[Path, ...]  # those of the sources at which a file system is mounted, or was before it disappeared

    def are_those_of(self, manifest: Manifest) -> bool:
        """Whether an index was built with the same settings that select files, and names the same model."""
        stored = (manifest.globs, manifest.source_globs, manifest.max_file_bytes, manifest.has_ocr, manifest.model)
        chosen = (self.globs, self.stored_source_globs, self.max_file_bytes, self.has_ocr, self.model_name)
        places = (self.relative(self.sources), self.relative(self.mounts))
        return (chosen, places) == (stored, (manifest.sources, manifest.mounts))

    @property
    def stored_source_globs(self) -> dict[str, Globs]:
        """`source_globs` as a manifest stores them."""
        return {source.relative_to(self.root).as_posix(): globs for source, globs in self.source_globs.items()}

    def relative(self, paths: Sequence[Path]) -> tuple[str, ...]:
        """Paths as the index stores them, relative to the root."""
        return tuple(path.relative_to(self.root).as_posix() for path in paths)


def complete_settings(paths: Sequence[Path], options: Options, stored: Index | None, place: Place) -> Settings:
    """Complete `options` from the `stored` index at `place`; raises SourceError, InputError or IndexUntrustedError.

    Sources add up: a named file or folder is added to the index unless it is already part of it, and then the whole
    index is updated. Only a rebuild and `options.removed` remove sources. What the user types counts as confirmed; what
    only the stored index names must have been confirmed before, and is not opened otherwise.
    """
    has_ocr = options.has_ocr if options.has_ocr is not None else stored is not None and stored.manifest.has_ocr
    _check_values(options, has_ocr=has_ocr)
    if stored is not None:
        _check_kept(options, stored)
    sources = joined_sources(paths, stored, options.removed)
    model_name = stored_name(options.model) if options.model or stored is None else stored.manifest.model
    untyped = [source for source in sources if not any(source.is_relative_to(path) for path in paths)]
    check_confirmed(place, TrustRequest(None if options.model else model_name, outside(place, untyped)))
    missing = missing_sources(sources, stored)
    root = root_of(sources, stored, place, keeps=not options.removed or bool(missing))
    is_read_otherwise = stored is not None and has_ocr != stored.manifest.has_ocr
    is_read_for_context = options.refresh_context and stored is not None and stored.manifest.embeds_on_refresh
    reads_all = options.rebuild or is_read_for_context or options.columns != Columns() or is_read_otherwise
    check_missing(missing, root, stored, reads_all=reads_all)
    before = None if stored is None else stored.manifest
    return Settings(
        root=root,
        sources=sources,
        missing=missing,
        model=model_to_open(options.model, stored),
        model_name=model_name,
        plain=_is_plain(options, model_name, before),
        trust_request=TrustRequest(model_name, outside(place, sources)),
        columns=_columns(options, before),
        max_file_bytes=options.max_file_bytes or (before.max_file_bytes if before else MAX_FILE_BYTES),
        globs=before.globs if before and options.per_source else _globs(options, before.globs if before else Globs()),
        source_globs=_source_globs(paths, sources, options, stored) if stored else {},
        context_size=options.context_size or (before.context_limit if before else None),
        seed=options.seed if options.seed is not None else before.seed if before else 0,
        has_ocr=has_ocr,
        vectors=options.vectors or (before.vectors if before else DEFAULT),
        mounts=mounted_sources(sources, missing, stored),
    )


def record_confirmation(place: Place, request: TrustRequest) -> str | None:
    """Record what the user typed in this run or confirmed before.

    Returns a line for the user if the record has changed or cannot be written, and None otherwise.
    """
    if request.is_empty:
        return None
    try:
        if confirm(place, request):
            return f"Recorded in {trust_file()} as confirmed for this index: {request.describe()}."
    except (InputError, OSError) as error:
        return f"Later commands will ask you to confirm the model or folders of this index again: {error}"
    return None


def _globs(options: Options, stored: Globs) -> Globs:
    """The globs of a run; raises InputError for one that cannot be used."""
    include = stored.include if options.include is None else options.include
    exclude = stored.exclude if options.exclude is None else options.exclude
    globs = Globs(tuple(include), tuple(exclude))
    Choice(globs)
    return globs


def _source_globs(paths: Sequence[Path], sources: Sequence[Path], options: Options, stored: Index) -> dict[Path, Globs]:
    """The globs of the sources that have their own; raises InputError for a named path that cannot have any."""
    found = {source: globs for source, globs in stored.source_globs.items() if source in sources}
    if options.per_source and (options.include, options.exclude) != (None, None):
        for path in paths:
            if path not in sources:
                raise InputError(f"{path} is inside another source.", "Only a source can have globs of its own.")
            if not path.is_dir():
                raise InputError(f"{path} is a file, for which globs have no effect.", "Omit --include and --exclude.")
            found[path] = _globs(options, found.get(path, Globs()))
    Choice(Globs.joined(found.values()))
    return {source: globs for source, globs in found.items() if globs != Globs()}


def _check_values(options: Options, *, has_ocr: bool) -> None:
    """Raise InputError for a value with which an index could be written but not read again, or that nothing offers."""
    size, file_bytes = options.context_size, options.max_file_bytes
    numbers = (("context size", size, MOST_CONTEXT), ("largest file size", file_bytes, MOST_FILE_BYTES))
    for name, value, most in numbers:
        if value is not None and not 1 <= value <= most:
            raise InputError(f"{value} cannot be the {name}.", f"Choose one from 1 to {most:,}.")
    if has_ocr and find_spec("rapidocr") is None:
        raise InputError(
            "The recognition of text in scanned pages and images is not installed.",
            f"{extra_remedy('ocr')} You can also switch it off with --no-ocr.",
        )
    if options.vectors is not None and options.vectors not in KINDS:
        raise InputError(f"Vectors cannot be stored as {options.vectors}.", f"Choose one of {', '.join(KINDS)}.")


def _check_kept(options: Options, stored: Index) -> None:
    """Raise InputError for other vectors or another context than a run that keeps those of the index can have."""
    manifest = stored.manifest
    if not options.rebuild and options.vectors not in (None, manifest.vectors):
        raise InputError(
            f"The index stores vectors as {manifest.vectors}, not as {options.vectors}.",
            "Leave out --vectors, or build the index again with its other settings:"
            f" {rebuild_command(stored.place, vectors=options.vectors)}.",
        )
    context = (("seed", options.seed, manifest.seed), ("context size", options.context_size, manifest.context_limit))
    for name, number, built in () if options.rebuild or options.refresh_context else context:
        if number not in (None, built):
            raise InputError(
                f"The index was built with {name} {built}, not {number}.",
                "Add --refresh-context to sample a new context.",
            )


def _columns(options: Options, before: Manifest | None) -> Columns:
    """The columns that the user names, and those of the index."""
    names: dict[str, str | None] = {} if before is None else dict(before.columns.items())
    names |= {name: value for name, value in asdict(options.columns).items() if value}
    return Columns(**names)


def _is_plain(options: Options, model_name: str | None, before: Manifest | None) -> bool:
    """Whether a published model is used as it is: as the user says, else as before, and not for another model."""
    if options.plain is not None or before is None:
        return options.plain or False
    is_same = model_name == before.model
    if isinstance(options.model, EndpointModel) and before.served is not None:  # its server may have moved
        is_same = options.model.name == before.served.name
    return is_same and not before.added_context
