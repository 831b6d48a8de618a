"""The Python API: build an index, open it, search it, and keep it up to date."""

import warnings
from asyncio import wrap_future
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any, Self

from cdesearch.builders import builder
from cdesearch.encode.load import Device
from cdesearch.errors import InputError, QueryError, SourceError
from cdesearch.models.endpoint_model import EndpointModel, Model, is_url, with_details
from cdesearch.search.reader import Mode
from cdesearch.search.result import SearchResult
from cdesearch.search.searcher import Searcher
from cdesearch.store.bucket_address import parse_place
from cdesearch.store.index import Index
from cdesearch.store.vector_format import VectorKind

ASYNCHRONOUS = 4  # searches of `asearch` that run at the same time; the others wait


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


class OpenIndex:
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
        self.report = report  # of the run that `build` has made; None for an index that was only opened
        self._searcher = searcher
        self._options: dict[str, Any] = {"device": device, "model": model}
        self._update_if_stale = update_if_stale
        self._updating = Lock()
        self._threads = ThreadPoolExecutor(ASYNCHRONOUS, thread_name_prefix="cdesearch-async")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the running searches, and end the threads that run them. Later calls raise QueryError."""
        self._threads.shutdown()
        self._searcher.close()

    @property
    def index(self) -> Index:
        """The newest generation that is open, with its manifest."""
        return self._searcher.index

    def search(
        self, query: str, k: int = 10, mode: Mode = "hybrid", path: str | None = None, min_confidence: float = 0.0
    ) -> SearchResult:
        """Return the `k` best chunks, best first, as a sequence of hits.

        `mode` is the ranking method: "hybrid", "dense" (vectors only), "text" (BM25 only), or "rerank": hybrid, and
        then the best 20 hits are compared with the query word by word. With `path`, only files that match this glob
        are searched. The glob is relative to the indexed folder, like `chunk.path`. Hits whose `confidence`, the
        estimated probability that they are relevant, is lower than `min_confidence` are left out. Raises QueryError for
        an invalid argument, and IndexStateError for an index that cannot be used.
        """
        _check_confidence(min_confidence)
        self._bring_up_to_date()
        return self._searcher.search(query, k, mode, path).confident(min_confidence)

    def search_many(
        self,
        queries: Sequence[str],
        k: int = 10,
        mode: Mode = "hybrid",
        path: str | None = None,
        min_confidence: float = 0.0,
    ) -> list[SearchResult]:
        """Return for each query what `search` returns, in less time than with a call for each.

        All queries are answered from one generation. With the default model the results are exactly the same; with
        models that are not quantised, scores may differ by rounding. Raises what `search` raises.
        """
        if isinstance(queries, str):
            raise QueryError("queries must be a list of texts, not a text.", 'For example: queries=["docs"].')
        _check_confidence(min_confidence)
        self._bring_up_to_date()
        results = self._searcher.search_many(list(queries), k, mode, path)
        return [result.confident(min_confidence) for result in results]

    async def asearch(
        self, query: str, k: int = 10, mode: Mode = "hybrid", path: str | None = None, min_confidence: float = 0.0
    ) -> SearchResult:
        """Return what `search` returns, without blocking the event loop: the search runs in a thread.

        A search that is cancelled before it starts is not run. One that is running ends in its thread, and its result
        is dropped. Raises what `search` raises.
        """
        try:
            later = self._threads.submit(self.search, query, k, mode, path, min_confidence)
        except RuntimeError:  # the threads have ended
            raise QueryError("This index has been closed.", "Open it again.") from None
        return await wrap_future(later)

    def update(self, *, refresh_context: bool = False, wait: bool = False) -> BuildReport:
        """Update the index to its files, as `cdesearch index` does. Later calls use the new generation.

        `refresh_context` samples a new context and embeds all texts again. With `wait`, another run on the same index
        is waited for; otherwise IndexBusyError is raised. Searches of other threads are answered from the previous
        generation meanwhile. Raises CdesearchError.
        """
        self._searcher.reload()
        encoder = self._searcher.loaded_encoder
        options = self._options | {"index": self.index.folder, "refresh_context": refresh_context, "wait": wait}
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


def open(
    folder: str | PathLike[str] | None = None,
    device: Device = "auto",
    model: str | PathLike[str] | None = None,
    *,
    update_if_stale: bool = False,
) -> OpenIndex:
    """Open the index of `folder`, or for None the nearest index upward from the working directory.

    `model` is the model that built the index, if it is not the default model, or the URL of its server. Naming the
    model confirms it for this call. Nothing is downloaded. With `update_if_stale`, each search first checks for changed
    files, and updates the index if that takes less than a second. Otherwise it warns that the index is out of date.
    Raises IndexStateError.
    """
    index = Index.open(None if folder is None else _place(folder))
    named = None if model is None else _model(model)
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
        [_path(path) for path in paths],
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
        wait=wait,
    )
    shown = _shown(report)
    if strict:
        _check_all_read(shown)
    return OpenIndex(Searcher(Index.open(report.folder), device=device, model=named), device, named, report=shown)


def _run(paths: Sequence[Path], *, columns: dict[str, str | None] | None = None, **options: Any) -> Any:
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


def _check_confidence(value: float) -> None:
    if not 0 <= value <= 1:
        raise QueryError(f"{value} is not a confidence.", "Give a number from 0 to 1, such as 0.3.")


def _globs(name: str, globs: Sequence[str] | None) -> tuple[str, ...] | None:
    if isinstance(globs, str) or not all(isinstance(glob, str) for glob in globs or ()):
        raise InputError(f"{name} must be a list of globs.", f'For example: {name}=["*.py"].')
    return None if globs is None else tuple(globs)


def _model(value: str | PathLike[str]) -> Model:
    return EndpointModel(value) if isinstance(value, str) and is_url(value) else _path(value)


def _place(value: str | PathLike[str]) -> Path:
    """The folder of an index, which stands for a bucket if `value` is an address such as s3://bucket/docs."""
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
