"""The Python API: build an index, open it, search it, and keep it up to date."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any, Literal, overload

from cdesearch.builders import builder
from cdesearch.encode.load import Device
from cdesearch.errors import InputError, SourceError
from cdesearch.models.endpoint_model import EndpointModel, Model, parse_model, with_details
from cdesearch.opened import OpenIndexes, Searchable
from cdesearch.search.searcher import Searcher
from cdesearch.search.several import SeveralSearcher
from cdesearch.store.index import Index
from cdesearch.store.named_indexes import open_each
from cdesearch.store.place import Place, parse_place
from cdesearch.store.vector_format import VectorKind

Folders = list[str] | list[Path] | list[str | PathLike[str]] | tuple[str | PathLike[str], ...]


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file that a run could not read, or only in part, or that is no longer in the index."""

    path: str  # relative to the indexed folder
    reason: str


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a run of `build` or `OpenIndex.update` has done, and what the index contains since."""

    changed: bool  # whether any document has changed
    documents: int
    documents_without_text: int  # among `documents`
    chunks: int
    embedded: int  # texts that went through the model in this run
    indexed_files: int
    ignored_files: int
    skipped: tuple[UnreadFile, ...]  # files that could not be read
    read_in_part: tuple[UnreadFile, ...]  # files that are indexed without the lines that could not be read
    dropped: tuple[UnreadFile, ...]  # files that still exist, but are no longer in the index
    seconds: float
    size_bytes: int  # on disk
    advice: str | None  # a line if a new context is advised (`refresh_context`)


class OpenIndex(Searchable):
    """An index that is open for searching. Close it with `close`, or use it in a `with` block.

    Any number of threads may use it. Every call uses the newest generation of the index, so the next call after an
    update by another process uses the updated index. A process that is forked from the one that uses an index cannot
    search: its calls raise IndexStateError.
    """

    def __init__(
        self,
        searcher: Searcher,
        device: Device = "auto",
        model: Model | None = None,
        *,
        update_if_stale: bool = False,
        report: BuildReport | None = None,
    ) -> None:
        super().__init__(searcher)
        self.report = report  # of the run that `build` has made; None for an index that was only opened
        self._searcher = searcher
        self._options: dict[str, Any] = {"device": device, "model": model}
        self._update_if_stale = update_if_stale
        self._updating = Lock()

    @property
    def index(self) -> Index:
        """The newest generation that is open, with its manifest."""
        return self._searcher.index

    def update(self, *, refresh_context: bool = False, wait: bool = False) -> BuildReport:
        """Update the index to its files, as `cdesearch index` does. Later calls use the new generation.

        `refresh_context` samples a new context and embeds all texts again. With `wait`, another run on the same index
        is waited for; otherwise IndexBusyError is raised. Searches of other threads are answered from the previous
        generation meanwhile. Raises CdesearchError.
        """
        self._searcher.reload()
        encoder = self._searcher.loaded_encoder
        options = self._options | {"index": self.index.place, "refresh_context": refresh_context, "wait": wait}
        report = _run([], encoder=encoder, **options)
        self._searcher.reload()
        return _shown(report)

    def reload(self) -> bool:
        """Open the newest generation if it is newer than the open one, and return whether it was.

        Every search does this by itself. Raises IndexStateError if the newest generation cannot be used.
        """
        return self._searcher.reload()

    def _bring_up_to_date(self) -> None:
        self._searcher.reload()
        if self._update_if_stale:
            with self._updating:
                line = builder("quick")(self.index, **self._options, encoder=self._searcher.loaded_encoder)
            if line:
                warnings.warn(line, stacklevel=3)
            self._searcher.reload()


@overload
def open(
    folder: str | PathLike[str] | None = None,
    device: Device = "auto",
    model: str | PathLike[str] | None = None,
    *,
    update_if_stale: bool = False,
) -> OpenIndex: ...
@overload
def open(folder: Folders, device: Device = "auto", model: str | PathLike[str] | None = None) -> OpenIndexes: ...
def open(
    folder: str | PathLike[str] | Folders | None = None,
    device: Device = "auto",
    model: str | PathLike[str] | None = None,
    *,
    update_if_stale: bool = False,
) -> OpenIndex | OpenIndexes:
    """Open the index of `folder`, or for None the nearest index upward from the working directory.

    The indexes of a list of folders are searched as one: the result is an `OpenIndexes`, without `update_if_stale`.
    `model` is the model that built the index, if it is not the default model, or the URL of its server. Naming the
    model confirms it for this call. Nothing is downloaded. With `update_if_stale`, each search first checks for changed
    files, and updates the index if that takes less than a second. Otherwise it warns that the index is out of date.
    Raises IndexStateError.
    """
    named = None if model is None else _model(model)
    if isinstance(folder, list | tuple):
        if update_if_stale or not folder:
            cause = "update_if_stale is for one index." if folder else "No path is named."
            raise InputError(
                cause, "Open each index by itself to update it." if folder else "Name at least one folder."
            )
        return OpenIndexes(SeveralSearcher.open(open_each(map(_place, folder)), device, named))
    index = Index.open(None if folder is None else _place(folder))
    return OpenIndex(Searcher(index, device=device, model=named), device, named, update_if_stale=update_if_stale)


def build(
    *paths: str | PathLike[str],
    index: str | PathLike[str] | None = None,
    model: str | PathLike[str] | None = None,
    model_name: str | None = None,
    query_prefix: str | None = None,
    document_prefix: str | None = None,
    plain: bool | None = None,
    device: Device = "auto",
    text_column: str | None = None,
    id_column: str | None = None,
    title_column: str | None = None,
    document_column: str | None = None,
    max_file_size: str | int | None = None,
    include: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    ocr: bool | None = None,
    vectors: VectorKind | None = None,
    dimension: int | None = None,
    context_size: int | None = None,
    seed: int | None = None,
    rebuild: bool = False,
    refresh_context: bool = False,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    workers: int | None = None,
    strict: bool = False,
    wait: bool = False,
) -> OpenIndex:
    """Index files and folders, or update their index, and open it.

    Without paths, the nearest index upward from the working directory is updated. The keywords are the options of
    `cdesearch index`, where `cdesearch index --help` explains them; `max_file_size` is a number of bytes, or a text
    such as "20MB". The index keeps the globs of `include` and `exclude` until others, or none ([]), are given. The
    attribute `report` of the result describes the run. With `strict`, SourceError is raised if a file was not
    read completely, after the other files have been indexed. Raises CdesearchError.
    """
    named = with_details(None if model is None else _model(model), model_name, query_prefix, document_prefix)
    report = _run(
        [_place(path) for path in paths],
        columns={"text": text_column, "id": id_column, "title": title_column, "document": document_column},
        index=None if index is None else _place(index),
        model=named,
        plain=plain,
        device=device,
        max_file_size=max_file_size,
        include=_globs("include", include),
        exclude=_globs("exclude", exclude),
        has_ocr=ocr,
        vectors=vectors,
        dimension=dimension,
        context_size=context_size,
        seed=seed,
        rebuild=rebuild,
        refresh_context=refresh_context,
        engine=engine,
        address=address,
        workers=workers,
        wait=wait,
    )
    shown = _shown(report)
    if strict:
        _check_all_read(shown)
    if isinstance(named, EndpointModel) and not named.url:
        named = None  # the index names the server, and now also what was named here
    return OpenIndex(Searcher(Index.open(report.place), device=device, model=named), device, named, report=shown)


def _run(paths: Sequence[Place], *, columns: dict[str, str | None] | None = None, **options: Any) -> Any:
    """Build or update an index without output, and return the `Report` of the package that builds indexes."""
    return builder("folder")(paths, columns=columns or {}, **({"max_file_size": None} | options))


def _shown(report: Any) -> BuildReport:
    return BuildReport(
        changed=report.changed,
        documents=report.n_documents,
        documents_without_text=report.n_without_text,
        chunks=report.n_chunks,
        embedded=report.embedded,
        indexed_files=report.n_files["indexed"],
        ignored_files=report.n_files["ignored"],
        skipped=_unread(report.skipped),
        read_in_part=_unread(report.in_part),
        dropped=_unread(report.dropped),
        seconds=report.seconds,
        size_bytes=report.size_bytes,
        advice=report.advice,
    )


def _unread(files: Sequence[Any]) -> tuple[UnreadFile, ...]:
    return tuple(UnreadFile(file.path, file.reason) for file in files)


def _check_all_read(report: BuildReport) -> None:
    unread = (*report.skipped, *report.read_in_part)
    if unread:
        raise SourceError(
            f"{len(unread):,} of the files were not read completely, such as {unread[0].path} ({unread[0].reason}).",
            "The others are indexed: open the index, or leave out `strict`.",
        )


def _globs(name: str, globs: Sequence[str] | None) -> tuple[str, ...] | None:
    if isinstance(globs, str) or not all(isinstance(glob, str) for glob in globs or ()):
        raise InputError(f"{name} must be a list of globs.", f'For example: {name}=["*.py"].')
    return None if globs is None else tuple(globs)


def _model(value: str | PathLike[str]) -> Model:
    return parse_model(value) if isinstance(value, str) and value else _path(value)


def _place(value: str | PathLike[str]) -> Place:
    """The place of an index or of files, which is in a bucket if `value` is an address such as s3://bucket/docs."""
    return parse_place(value) if isinstance(value, str) and "://" in value else _path(value)


def _path(value: str | PathLike[str]) -> Path:
    if value == "":  # pathlib would treat it as the working directory
        raise InputError("A path is empty.", 'Name a folder. The working directory is ".".')
    try:
        return Path(value)
    except TypeError:
        kind = type(value).__name__
        raise InputError(
            f"A path must be a str or a pathlib.Path, not {kind}.",
            'Pass each path as a separate argument: ("docs", "notes").',
        ) from None
