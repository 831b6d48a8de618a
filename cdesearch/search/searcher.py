"""An open index that answers queries, always from its newest usable generation."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from threading import Lock
from typing import Self, get_args

from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import Device, check_device, load_encoder
from cdesearch.errors import IndexDamagedError, QueryError
from cdesearch.models.hub import stored_model
from cdesearch.search.fusion import DEFAULT_FUSION, FUSIONS
from cdesearch.search.reader import GenerationReader, Mode, Query
from cdesearch.search.result import SearchResult
from cdesearch.store.index import Index
from cdesearch.store.trust import require_trust


class Searcher:
    """An open index and the model that built it, for any number of threads; `close` or a `with` block ends it.

    The model is loaded when the first dense query needs it. `model` is the user's own name for the model that built
    the index: a folder, or an id that is in the cache. Without it the model that the index names is used, if the
    user has confirmed it. `fusion` is a name in `cdesearch.search.fusion.FUSIONS`.
    """

    def __init__(
        self,
        index: Index,
        encoder: Encoder | None = None,
        device: Device = "auto",
        model: Path | None = None,
        fusion: str = DEFAULT_FUSION,
    ) -> None:
        self.index = index
        self._encoder = encoder
        check_device(device)
        self._device = device
        self._model = model
        self._fusion = FUSIONS[fusion]
        self._loading = Lock()
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
        index = self.index  # one answer reads one generation, even if another thread opens a newer one
        most = max(1, index.manifest.n_chunks)  # LanceDB reserves memory for k rows
        paths = (path,) if isinstance(path, str) else path
        request = Query(query, min(k, most), mode, paths)
        try:
            result = self._reader(index).search(request)
        except IndexDamagedError:
            newest = Index(index.folder)
            if newest.generation == index.generation:
                raise
            self.index = newest
            result = self._reader(newest).search(request)
        return replace(result, seconds=time.perf_counter() - started)

    def has_file(self, *globs: str) -> bool:
        """Whether the path of an indexed file matches one of `globs`; raises QueryError and IndexStateError."""
        return self._reader(self.index).has_file(globs)

    def _reader(self, index: Index) -> GenerationReader:
        return GenerationReader(index, self._encoder_for, self._executor, self._fusion)

    def _encoder_for(self, index: Index) -> Encoder:
        with self._loading:
            if self._encoder is None:
                if self._model is None:
                    require_trust(index, folders=False)
                model = self._model or stored_model(index.manifest.model)
                self._encoder = load_encoder(model, self._device, fetch=False)
        index.check_encoder(self._encoder)
        return self._encoder


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
