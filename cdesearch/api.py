"""The Python face: build an index, open it, search it."""

from importlib.metadata import entry_points
from os import PathLike
from pathlib import Path

from cdesearch.encode.load import Device
from cdesearch.search.reader import Mode
from cdesearch.search.result import SearchResult
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index


class OpenIndex:
    """An index ready to answer."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher

    @property
    def index(self) -> Index:
        """The index on disk, with its manifest."""
        return self._searcher.index

    def search(
        self, query: str, k: int = 10, mode: Mode = "hybrid", path: str | None = None, context: bool = True
    ) -> SearchResult:
        """The `k` best chunks, best first, as a sequence of hits; raises QueryError."""
        return self._searcher.search(query, k, mode, path, context)


def open(
    folder: str | PathLike[str] | None = None, device: Device = "auto", model: str | PathLike[str] | None = None
) -> OpenIndex:
    """Open the index of `folder`; None looks upward from the working directory. Raises IndexStateError.

    `model` names the model that built the index, where that is not the one that ships: so the caller confirms it for
    this call. Nothing is downloaded.
    """
    index = Index.open(None if folder is None else Path(folder))
    return OpenIndex(Searcher(index, device=device, model=None if model is None else Path(model)))


def build(*paths: str | PathLike[str]) -> OpenIndex:
    """Index files and folders, or bring their index up to date, and open it; raises CdesearchError."""
    (builder,) = entry_points(group="cdesearch.builders", name="folder")
    folder: Path = builder.load()([Path(path) for path in paths])
    return open(folder)
