"""What the package that builds indexes offers to this one.

That package imports this one, so its functions are found through the entry-point group `cdesearch.builders`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from pathlib import Path

    from cdesearch.encode.encoder import Encoder
    from cdesearch.encode.load import Device
    from cdesearch.models.endpoint_model import Model
    from cdesearch.store.index import Index
    from cdesearch.store.manifest import Manifest
    from cdesearch.store.place import Place


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file that a run could not read, or only in part, or that is no longer in the index; or a folder."""

    path: str  # relative to the indexed folder; that of a folder has "/" at its end
    reason: str


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a run of `build` or `OpenIndex.update` has done, and what the index contains since."""

    changed: bool  # whether any document has changed
    documents: int
    chunks: int
    embedded: int  # texts that went through the model in this run
    indexed_files: int
    ignored_files: int
    skipped: tuple[UnreadFile, ...]  # files that could not be read
    read_in_part: tuple[UnreadFile, ...]  # files that are indexed without the lines that could not be read
    dropped: tuple[UnreadFile, ...]  # files that still exist, but are no longer in the index
    seconds: float
    size_bytes: int  # on disk
    renewed: str | None  # a line about a context that no longer fitted, and a new one, sampled or not
    advice: str | None  # a line if a new context is advised (`refresh_context`), which would embed all texts again
    place: "Place"  # of the index
    folder: "Path"  # in which the run wrote; for an index in a bucket, the working copy

    @property
    def documents_without_text(self) -> int:
        """How many of the documents have no text. The table of the newest generation is opened only for this."""
        from cdesearch.store.index import Index

        return int(Index(self.folder).documents.count_rows("n_chunks = 0"))


@dataclass(frozen=True, slots=True)
class Survey:
    """What a build of a folder that has no index would read."""

    n_files: int
    n_bytes: int
    seconds: float  # an estimate of its time on two cores


class Tools(Protocol):
    """A loaded model and a pool of processes, which all updates of `keep_up` use."""

    def close(self) -> None: ...


class Builder(Protocol):
    """The functions that build indexes and keep them up to date. Each is registered under its own name."""

    def folder(
        self,
        paths: "Sequence[Place]",
        *,
        columns: dict[str, str | None],
        encoder: "Encoder | None" = None,
        **options: Any,
    ) -> BuildReport:
        """Build or update the index of files and folders without output; `options` are those of `cdesearch.build`."""

    def survey(self, folder: "Path") -> Survey:
        """What the first build of a folder would read, with the settings of a new index."""

    def changes(self, index: "Index") -> dict[str, int]:
        """How many files are `new`, `modified` and `deleted` since the last run."""

    def quiet(self, index: "Index") -> "Callable[[], bool] | None":
        """A function that returns whether no file has changed since this call; None if the system may not report it."""

    def quick(
        self,
        index: "Index",
        *,
        device: "Device" = "auto",
        model: "Model | None" = None,
        encoder: "Encoder | None" = None,
        in_background: bool = True,
    ) -> str | None:
        """Update the index if that takes about a second; otherwise return a line about what it lacks.

        The line names the command for it, unless the update is started `in_background`. Never raises CdesearchError
        for an update that fails, because the index answers nevertheless.
        """

    def stale(self, manifest: "Manifest") -> str | None:
        """A sentence that says why the context no longer describes the corpus; None if it does."""

    def keep_up(self, folder: "Place", tools: "Tools", say: Callable[[str], None], stop: Event) -> None:
        """Update the index in a folder whenever its files change, until `stop` is set."""

    def warm(self) -> "Tools": ...


class _EntryPoints:
    def __getattr__(self, name: str) -> Any:
        from importlib.metadata import entry_points  # imported late: a worker process needs none

        (entry,) = entry_points(group="cdesearch.builders", name=name)
        return entry.load()


BUILDER = cast(Builder, _EntryPoints())
