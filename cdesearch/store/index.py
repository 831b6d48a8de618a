"""An index, open for reading: its manifest, its stored context and its tables. Several are opened by unique names."""

import os
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cdesearch.errors import CdesearchError, IndexDamagedError, IndexMismatchError, IndexStateError, ModelError
from cdesearch.models.endpoint_model import DEFAULT_NAME, Model
from cdesearch.store.checksums import MANIFEST
from cdesearch.store.copies import on_this_computer, shown_source
from cdesearch.store.file_account import FILES, FileRecord, read_files
from cdesearch.store.filesystem import foreign_owner, is_available
from cdesearch.store.finding import opened_place
from cdesearch.store.known import remember
from cdesearch.store.layout import CURRENT, FOLDER, rebuild_command, rebuild_remedy
from cdesearch.store.manifest import Globs, Manifest
from cdesearch.store.place import Place, absolute, for_kind, on_disk
from cdesearch.store.schema import chunk_schema, document_schema
from cdesearch.store.storage import LocalStorage, Storage
from cdesearch.store.trust import TrustRequest, check_confirmed, check_found, outside, real
from cdesearch.store.vector_format import FIRST_STAGE, FirstStageFormat, VectorFormat
from cdesearch.store.vocabulary import VOCABULARY, read_vocabulary

if TYPE_CHECKING:
    from cdesearch.context.context import Context
    from cdesearch.context.vectors import Floats
    from cdesearch.encode.encoder import Encoder
    from cdesearch.words.compounds import Vocabulary


CONTEXT = "context.safetensors"
Read = TypeVar("Read")


def read_newest(index: "Index", read: Callable[["Index"], Read]) -> Read:
    """What `read` returns for an open generation, or for the newest one if updates have removed it meanwhile."""
    while True:  # each time with a newer generation
        try:
            return read(index)
        except IndexDamagedError:
            newest = Index(index.place)
            if newest.generation == index.generation:
                raise
            index = newest


class Index:
    """One generation, open for reading. A running update never changes it."""

    def __init__(self, place: Place) -> None:
        self.place = absolute(place)  # LanceDB would treat a relative "a:b" as the address of a server
        self.storage: Storage = for_kind(self.place, LocalStorage, "cdesearch.store.bucket.storage:BucketStorage")()
        self._live = self.storage.open()
        self.generation, self.checks = self._live.files, self._live.checks
        self.manifest = Manifest.load(self.generation / MANIFEST, self.place)
        self.checks.require(MANIFEST)

    @classmethod
    def open(cls, place: Place | None = None) -> "Index":
        """Open the index that `place` names, see `opened_place`; raises IndexStateError."""
        opened = cls(opened_place(place))
        remember(opened.place)
        return opened

    @property
    def folder(self) -> Path:
        """The folder of an index on a disk; raises InputError for one in a bucket."""
        return on_disk(self.place, "this command")

    @cached_property
    def root(self) -> Path:
        """The folder that chunk paths are relative to. If it contains the index, both can be moved together."""
        root = Path(self.manifest.root)
        if isinstance(self.place, Path):
            root = absolute(self.place / root)
        return on_this_computer(root, self.manifest.sources)

    @property
    def sources(self) -> tuple[Path, ...]:
        """The indexed folders and files, as absolute paths."""
        return tuple(absolute(self.root / source) for source in self.manifest.sources)

    @property
    def source_globs(self) -> dict[Path, Globs]:
        """The globs of the sources that have their own, by absolute path."""
        return {absolute(self.root / source): globs for source, globs in self.manifest.source_globs.items()}

    @property
    def mounts(self) -> frozenset[Path]:
        """Those of the sources at which a file system was mounted when they were read, as absolute paths."""
        return frozenset(absolute(self.root / source) for source in self.manifest.mounts)

    @property
    def missing_sources(self) -> tuple[Path, ...]:
        """The sources that do not exist now, or whose file system is not mounted now."""
        mounts = self.mounts
        return tuple(source for source in self.sources if not is_available(source, was_mount=source in mounts))

    @cached_property
    def context(self) -> "Context":
        """The stored context; raises IndexDamagedError.

        Raises IndexStateError for the first stage of a build, which has no vectors and therefore no context.
        """
        from cdesearch.context.context import Context  # imports NumPy

        if self.manifest.n_vectors == 0:
            raise self.unfinished()
        self.checks.require(CONTEXT)
        try:
            return Context.load(self.generation / CONTEXT)
        except IndexDamagedError as error:
            raise IndexDamagedError(error.cause, rebuild_remedy(self.place)) from None

    @property
    def trust_request(self) -> TrustRequest:
        """The model and folders in the manifest, and the owner, that need the user's confirmation."""
        owner = foreign_owner(self.place) if isinstance(self.place, Path) else None
        return TrustRequest(self.manifest.model, outside(self.place, self.sources), owner)

    def require_trust(self, *, model: bool = True, folders: bool = True) -> None:
        """Raise IndexUntrustedError unless the model and folders that need confirmation have it."""
        request = self.trust_request
        check_confirmed(self.place, TrustRequest(request.model if model else None, request.folders if folders else ()))

    def context_for(self, encoder: "Encoder") -> "Context":
        """The stored context, checked to fit `encoder`; raises IndexDamagedError if another model made it."""
        if not encoder.fits(self.context):
            raise IndexDamagedError(
                f"The stored context of {self.place} is that of another model.", rebuild_remedy(self.place)
            )
        return self.context

    @property
    def model_to_open(self) -> Model | None:
        """The model that built the index, as `load_encoder` takes it; raises ModelError if it is not here."""
        model = self.manifest.model_to_open
        if isinstance(model, Path) and not model.is_dir():
            raise ModelError(
                f"The model of this index was in {model}, and there is no such folder any more.",
                f"If it was moved, run `cdesearch index --model NEW_FOLDER --index {shlex.quote(str(self.place))}`,"
                f" which keeps all vectors. Otherwise {rebuild_command(self.place, model=DEFAULT_NAME)} embeds all"
                " texts with the model that ships.",
            )
        return model

    @property
    def lost_model(self) -> str | None:
        """Why that model cannot be opened, with the remedy; None if its folder is there, or it is on a server."""
        try:
            _ = self.model_to_open
        except ModelError as error:
            return str(error)
        return None

    @property
    def vectors(self) -> VectorFormat:
        """How the table of chunks stores vectors."""
        return VectorFormat(self.manifest.vectors, self.manifest.dimension)

    def vectors_in(self, rows: Any) -> "Floats":
        """The vectors (n, d) of some chunks, whose columns `vectors.columns` were read; raises IndexDamagedError."""
        return self.vectors.read(rows, self.place)

    @cached_property
    def vocabulary(self) -> "Vocabulary | None":
        """The words of the corpus, if its language joins words; None also for an index of an older version.

        Raises IndexStateError.
        """
        self.checks.require(VOCABULARY)  # from a bucket it is downloaded only for this
        return read_vocabulary(self.generation, self.place)

    @cached_property
    def chunks(self) -> Any:
        """The LanceDB table of chunks."""
        return self._live.table("chunks", chunk_schema(self.vectors))

    @cached_property
    def async_chunks(self) -> Any:
        """The LanceDB AsyncTable of chunks, for queries through `run_async`."""
        return self._live.async_table("chunks", chunk_schema(self.vectors))

    @cached_property
    def documents(self) -> Any:
        """The LanceDB table of documents."""
        return self._live.table("documents", document_schema())

    @property
    def first_stage_format(self) -> FirstStageFormat:
        """How first-stage vectors are stored."""
        return FirstStageFormat(len(self.context.whitening.shift))

    @cached_property
    def first_stage(self) -> Any:
        """The LanceDB table of first-stage vectors, if `vectors.keeps_first_stage`."""
        return self._live.table(FIRST_STAGE, self.first_stage_format.schema)

    def unfinished(self) -> IndexStateError:
        """The error for what needs vectors that a stage of an unfinished build does not have yet."""
        return IndexStateError(
            f"The index in {self.place} is not complete yet ({self.manifest.stage}).",
            "Wait until `cdesearch index` has finished; if it was stopped, run it again. Search with --mode text.",
        )

    def check_encoder(self, encoder: "Encoder") -> None:
        """Raise IndexMismatchError if another model built this index."""
        built_by = self.manifest.model_fingerprint
        if encoder.fingerprint != built_by:
            raise IndexMismatchError(
                f"The index was built by model {built_by[:12]}; this is model {encoder.fingerprint[:12]}.",
                f"If --model names another model than {self.manifest.model or DEFAULT_NAME}, leave it out. Otherwise it"
                f" has changed: embed all texts again with {rebuild_command(self.place)}.",
            )
        self._check_probes(encoder)
        if self.manifest.dimension != encoder.dimension:
            raise IndexDamagedError(
                f"The index {self.place} has {self.manifest.dimension} dimensions, and its model {encoder.dimension}.",
                rebuild_remedy(self.place),
            )

    def _check_probes(self, encoder: "Encoder") -> None:
        """Raise IndexMismatchError if a server returns other vectors for the probes than when the index was built."""
        served = self.manifest.served
        if served is None or encoder.probes is None:
            return
        from cdesearch.encode.remote import is_same_model

        if not is_same_model(served.vectors(encoder.dimension), encoder.probes):
            raise IndexMismatchError(
                f"The model that the server calls {served.name:.80} is no longer the one that built the index: it"
                " computes other vectors from the same texts.",
                f"Serve the earlier model again, or embed all texts again with {rebuild_command(self.place)}.",
            )

    def size_bytes(self) -> int:
        """The size of the live generation, in bytes."""
        return self.checks.size_bytes()

    def file_records(self) -> Iterator[FileRecord]:
        """The records of all files that were found, in the order of the walk; raises IndexDamagedError."""
        self.checks.require(FILES)
        return read_files(self.generation, self.place)


def open_each(places: Iterable[Place | None]) -> dict[str, Index]:
    """Open the index at each place, as `Index.open` finds it, and return the indexes by name.

    An index that is named twice is opened once. Raises IndexStateError if any of them cannot be opened.
    """
    opened: dict[Place, Index] = {}
    for place in places:
        index = Index.open(place)
        opened.setdefault(real(index.place), index)
    named: dict[str, Index] = {}
    for index in opened.values():
        named[free_name(index, named)] = index
    return named


def free_name(index: Index, taken: Collection[str]) -> str:
    """The name of the indexed folder, with a number appended if another index already has this name."""
    base = Path(shown_source(index.root)).name or "index"
    names = (base if number == 1 else f"{base}-{number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def outer_index(folder: Path, nearest: Path) -> Index | None:
    """The first index above the one in the index folder `nearest` whose sources contain `folder`; None if none does.

    An index that cannot be read, or that this user has not confirmed, is passed over. No table is opened.
    """
    for above in nearest.parent.parents:
        if os.path.lexists(above / FOLDER / CURRENT):
            with suppress(CdesearchError, OSError):
                check_found(above / FOLDER)
                index = Index(above / FOLDER)
                if any(folder.is_relative_to(source) for source in index.sources):
                    return index
    return None
