"""An open index that answers queries, always from its newest usable generation."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from threading import Lock
from typing import Self, TypeVar, get_args

from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import Device
from cdesearch.errors import CdesearchError, IndexDamagedError, QueryError
from cdesearch.search.fusion import DEFAULT_FUSION, FUSIONS
from cdesearch.search.model_loader import ModelLoader
from cdesearch.search.reader import GenerationReader, Mode, Query
from cdesearch.search.result import SearchResult
from cdesearch.store.folder import current_name
from cdesearch.store.index import Index

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class RefusedGeneration:
    """A newer generation that cannot be used."""

    name: str
    error: CdesearchError


class Searcher:
    """An open index and the model that built it, for any number of threads; `close` or a `with` block ends it.

    The model is loaded when the first dense query needs it. `encoder` is the model if it is loaded already, or the
    loader that several indexes share; by default a loader with `device` and `model`, see `ModelLoader`. `fusion` is a
    name in `cdesearch.search.fusion.FUSIONS`.
    """

    def __init__(
        self,
        index: Index,
        encoder: Encoder | ModelLoader | None = None,
        device: Device = "auto",
        model: Path | None = None,
        fusion: str = DEFAULT_FUSION,
    ) -> None:
        self.index = index
        self.refused: RefusedGeneration | None = None  # by the last `refresh`
        self._given = encoder if isinstance(encoder, Encoder) else None
        self._held = self._given  # the loader forgets a model that nobody holds
        self._models = encoder if isinstance(encoder, ModelLoader) else ModelLoader(device, model)
        self._fusion = FUSIONS[fusion]
        self._opening = Lock()
        self._executor = ThreadPoolExecutor(thread_name_prefix="cdesearch-text")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the threads, after the searches that are running."""
        self._executor.shutdown()

    @property
    def encoder(self) -> Encoder:
        """The model; raises ModelError, IndexUntrustedError, or IndexMismatchError if another built the index."""
        return self._encoder_for(self.index)

    def search(
        self, query: str, k: int = 10, mode: Mode = "hybrid", path: str | tuple[str, ...] | None = None
    ) -> SearchResult:
        """The `k` best chunks, best first. `path` is a glob relative to the indexed folder, or a tuple of alternatives.

        Raises QueryError for an invalid query, `k`, `mode` or `path`, and IndexStateError for an index that cannot be
        used. If updates have removed the generation that was open, the newest one is opened and answers.
        """
        started = time.perf_counter()
        _check(query, k, mode, path)
        paths = (path,) if isinstance(path, str) else path

        def answer(index: Index) -> SearchResult:
            most = max(1, index.manifest.n_chunks)  # LanceDB reserves memory for k rows
            return self._reader(index).search(Query(query, min(k, most), mode, paths))

        return replace(self.read(answer), seconds=time.perf_counter() - started)

    def has_file(self, *globs: str) -> bool:
        """Whether the path of an indexed file matches one of `globs`; raises QueryError and IndexStateError."""
        return self.read(lambda index: self._reader(index).has_file(globs))

    def read(self, answer: Callable[[Index], Answer]) -> Answer:
        """What `answer` returns for the generation that is open, or for the newest one if updates have removed it.

        One call of `answer` reads one generation, even if another thread opens a newer one meanwhile.
        """
        index = self.index
        try:
            return answer(index)
        except IndexDamagedError:
            newest = self._opened_after(index)
            if newest is None:
                raise
        return answer(newest)

    def warm(self) -> None:
        """Load the model and the tables, so that the first search is as fast as later ones; raises CdesearchError."""
        self._warm(self.index)

    def refresh(self) -> bool:
        """Open the newest generation if there is a newer one than the one that is open; returns whether there was.

        A generation is opened and searched once before it answers queries. One that cannot be used is recorded in
        `refused` and not tried again, and the open one keeps answering. Otherwise only the file CURRENT is read.
        """
        try:
            name = current_name(self.index.folder)
        except CdesearchError as error:
            self.refused = RefusedGeneration("", error)
            return False
        if name is None or (self.refused is not None and self.refused.name == name):
            return False
        if name == self.index.generation.name:
            self.refused = None
            return False
        try:
            newest = Index(self.index.folder)
            encoder = self._warm(newest)
        except CdesearchError as error:
            self.refused = RefusedGeneration(name, error)
            return False
        with self._opening:
            self.index, self._held, self.refused = newest, encoder, None
        return True

    def _opened_after(self, index: Index) -> Index | None:
        """The newest generation, opened in place of `index`; None if there is no newer one."""
        with self._opening:
            if self.index is index:
                newest = Index(index.folder)
                if newest.generation == index.generation:
                    return None
                self.index = newest
            return self.index

    def _warm(self, index: Index) -> Encoder:
        self._reader(index).search(Query("a", 1, "hybrid", None))
        return self._encoder_for(index)

    def _reader(self, index: Index) -> GenerationReader:
        return GenerationReader(index, self._encoder_for, self._executor, self._fusion)

    def _encoder_for(self, index: Index) -> Encoder:
        if self._given is not None:
            index.check_encoder(self._given)
            return self._given
        encoder = self._models.encoder_for(index)
        if index is self.index:
            self._held = encoder
        return encoder


def _check(query: str, k: int, mode: str, path: str | tuple[str, ...] | None) -> None:
    for name, value, kind in (("query", query, str), ("path", path, str | tuple | None), ("k", k, Integral)):
        if not isinstance(value, kind):
            wanted, example = ("a whole number", "k=10") if name == "k" else ("a text", f'{name}="docs"')
            given = "a text" if isinstance(value, str) else type(value).__name__
            raise QueryError(f"{name} must be {wanted}, not {given}.", f"For example: {example}.")
    if not query.strip():
        raise QueryError("The query is empty.", "Type some words.")
    if any(0xD800 <= ord(character) <= 0xDFFF for character in query):  # bytes that are not UTF-8
        raise QueryError("The query is not valid Unicode.", "Type it in UTF-8.")
    if k < 1:
        raise QueryError(f"{k} is not a number of hits.", "Ask for at least one.")
    if mode not in get_args(Mode):
        raise QueryError(f"There is no mode {mode}.", f"Use one of {', '.join(get_args(Mode))}.")
