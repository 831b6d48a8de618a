"""The Python API: build an index, open it, and search it."""

from importlib.metadata import entry_points
from os import PathLike
from pathlib import Path
from typing import Self

from cdesearch.encode.load import Device
from cdesearch.errors import InputError
from cdesearch.search.reader import Mode
from cdesearch.search.result import SearchResult
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index


class OpenIndex:
    """An index that is open for searching. Close it with `close`, or use it in a `with` block."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the running searches, and end the threads that run them."""
        self._searcher.close()

    @property
    def index(self) -> Index:
        """The newest generation that is open, with its manifest."""
        return self._searcher.index

    def search(self, query: str, k: int = 10, mode: Mode = "hybrid", path: str | None = None) -> SearchResult:
        """Return the `k` best chunks, best first, as a sequence of hits.

        `mode` is the ranking method: "hybrid", "dense" (vectors only) or "text" (BM25 only). With `path`, only files
        that match this glob are searched. The glob is relative to the indexed folder, like `chunk.path`. Raises
        QueryError for an invalid argument, and IndexStateError for an index that cannot be used.
        """
        return self._searcher.search(query, k, mode, path)


def open(
    folder: str | PathLike[str] | None = None, device: Device = "auto", model: str | PathLike[str] | None = None
) -> OpenIndex:
    """Open the index of `folder`, or for None the nearest index upward from the working directory.

    `model` is the model that built the index, if it is not the default model. Naming the model confirms it for this
    call. Nothing is downloaded. Raises IndexStateError.
    """
    index = Index.open(None if folder is None else _path(folder))
    return OpenIndex(Searcher(index, device=device, model=None if model is None else _path(model)))


def build(
    *paths: str | PathLike[str],
    index: str | PathLike[str] | None = None,
    model: str | PathLike[str] | None = None,
    device: Device = "auto",
    text_column: str | None = None,
    id_column: str | None = None,
    title_column: str | None = None,
    document_column: str | None = None,
    rebuild: bool = False,
    wait: bool = False,
) -> OpenIndex:
    """Index files and folders, or update their index, and open it; raises CdesearchError.

    Without paths, the nearest index upward from the working directory is updated. The keywords are the most common
    options of `cdesearch index`.
    """
    (builder,) = entry_points(group="cdesearch.builders", name="folder")
    folder: Path = builder.load()(
        [_path(path) for path in paths],
        columns={"text": text_column, "id": id_column, "title": title_column, "document": document_column},
        index=None if index is None else _path(index),
        model=None if model is None else _path(model),
        device=device,
        rebuild=rebuild,
        wait=wait,
    )
    return open(folder, device, model)


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
