"""The Python API: build an index, open it, search it, and keep it up to date."""

import warnings
from asyncio import wrap_future
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from os import PathLike
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any, Literal, Unpack, overload

from cdesearch.builders import BUILDER, BuildReport
from cdesearch.encode.load import Device
from cdesearch.errors import InputError, QueryError, SourceError
from cdesearch.models.endpoint_model import EndpointModel, Model, parse_model, with_details
from cdesearch.search.options import Mode
from cdesearch.search.passage_lines import best_row, query_words
from cdesearch.search.request import Filters, Globs, K, Searches, SearchRequest
from cdesearch.search.result import SearchResult
from cdesearch.search.searcher import Searcher
from cdesearch.search.together import Together
from cdesearch.store.changes import may_be_behind
from cdesearch.store.index import Index, open_each
from cdesearch.store.place import Place, on_disk, parse_place
from cdesearch.store.vector_format import VectorKind

ASYNCHRONOUS = 4  # searches of `asearch` that run at the same time; the others wait
Folders = list[str] | list[Path] | list[str | PathLike[str]] | tuple[str | PathLike[str], ...]


class _Opened(Searches):
    """What one open index and several have in common."""

    def __init__(self, searched: Searcher | Together) -> None:
        self._searched = searched
        self._threads = ThreadPoolExecutor(ASYNCHRONOUS, thread_name_prefix="cdesearch-async")

    def close(self) -> None:
        """Wait for the running searches, and end the threads that run them. Later calls raise QueryError."""
        self._threads.shutdown()
        self._searched.close()

    def _answers(self, requests: Sequence[SearchRequest]) -> list[SearchResult]:
        """The results of the newest generation. The location of a hit is that of the best line of its passage."""
        self._bring_up_to_date()
        found = zip(self._searched.search_many(requests), map(query_words, (one.text for one in requests)), strict=True)
        return [
            replace(
                result,
                hits=tuple(replace(hit, chunk=replace(hit.chunk, row=best_row(hit, words))) for hit in result.hits),
            )
            for result, words in found
        ]

    async def asearch(
        self,
        query: str | SearchRequest,
        k: int = K,
        mode: Mode = "hybrid",
        path: Globs = None,
        **filters: Unpack[Filters],
    ) -> SearchResult:
        """What `search` returns, without blocking the event loop: the search runs in a thread.

        A search that is cancelled before it starts is not run. One that is running ends in its thread, and its result
        is dropped. Raises what `search` raises.
        """
        try:
            later = self._threads.submit(self.search, query, k, mode, path, **filters)
        except RuntimeError:  # the threads have ended
            raise QueryError("This index has been closed.", "Open it again.") from None
        return await wrap_future(later)

    def _bring_up_to_date(self) -> None:
        self._searched.reload()


class OpenIndexes(_Opened):
    """Several indexes that are searched as one. Close them with `close`, or use them in a `with` block.

    The attribute `index` of each hit is the name of its index, and `copies` are the hits of other indexes with the same
    text. `path` is relative to the indexed folder of each index. If one of the indexes cannot be searched, the call
    raises its error. Threads and newer generations are as for `OpenIndex`.
    """

    @property
    def indexes(self) -> Mapping[str, Index]:
        """The newest open generation of each index, by name."""
        return MappingProxyType(dict(self._searched.indexes))


class OpenIndex(_Opened):
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

        `refresh_context` samples a new context, for which all texts are embedded again only if the networks of the
        model attend to the context, or the vectors are int8 or binary. With `wait`, another run on the same index is
        waited for; otherwise IndexBusyError is raised. Searches of other threads are answered from the previous
        generation meanwhile. Raises CdesearchError.
        """
        self._searcher.reload()
        encoder = self._searcher.loaded_encoder
        options = self._options | {"index": self.index.place, "refresh_context": refresh_context, "wait": wait}
        report = BUILDER.folder([], columns={}, encoder=encoder, max_file_size=None, **options)
        self._searcher.reload()
        return report

    def reload(self) -> bool:
        """Open the newest generation if it is newer than the open one, and return whether it was.

        Every search does this by itself. Raises IndexStateError if the newest generation cannot be used.
        """
        return self._searcher.reload()

    def _bring_up_to_date(self) -> None:
        self._searcher.reload()
        if self._update_if_stale and may_be_behind(self.index):
            with self._updating:
                encoder = self._searcher.loaded_encoder
                line = BUILDER.quick(self.index, **self._options, encoder=encoder, in_background=False)
            if line:
                warnings.warn(line, stacklevel=4)
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
        return OpenIndexes(Together.open(open_each(map(_place, folder)), device, named))
    index = Index.open(None if folder is None else _place(folder))
    if update_if_stale:
        on_disk(index.place, "open(update_if_stale=True)")
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
    report = BUILDER.folder(
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
        context_size=context_size,
        seed=seed,
        rebuild=rebuild,
        refresh_context=refresh_context,
        engine=engine,
        address=address,
        workers=workers,
        wait=wait,
    )
    unread = (*report.skipped, *report.read_in_part)
    if strict and unread:
        raise SourceError(
            f"{len(unread):,} of the files were not read completely, such as {unread[0].path} ({unread[0].reason}).",
            "The others are indexed: open the index, or leave out `strict`.",
        )
    if isinstance(named, EndpointModel) and not named.url:
        named = None  # the index names the server, and now also what was named here
    return OpenIndex(Searcher(Index.open(report.place), device=device, model=named), device, named, report=report)


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
