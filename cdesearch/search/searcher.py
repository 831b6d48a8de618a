"""An open index that answers queries from its newest usable generation."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from numbers import Integral
from threading import Lock
from typing import Self, TypeVar, get_args

from tokenizers import Tokenizer

from cdesearch.encode.encoder import Encoder
from cdesearch.encode.forked import claim_process
from cdesearch.encode.load import Device, default_tokenizer
from cdesearch.errors import CdesearchError, IndexDamagedError, IndexUntrustedError, ModelServerError, QueryError
from cdesearch.models.endpoint_model import Model
from cdesearch.search.explanation import Explanation, explain
from cdesearch.search.file_filter import FileFilter
from cdesearch.search.fusion import DEFAULT_FUSION, FUSIONS
from cdesearch.search.model_loader import ModelLoader
from cdesearch.search.query_vectors import QueryVectors
from cdesearch.search.reader import Gathered, GenerationReader, Mode, Query
from cdesearch.search.result import SearchResult
from cdesearch.store.index import Index

MANY = 64  # queries whose candidates are in memory at the same time
CONFIRMING_SECONDS = 2  # the time between two attempts to open a generation that the user has not confirmed

Answer = TypeVar("Answer")
PathFilter = str | tuple[str, ...] | FileFilter | None


@dataclass(frozen=True, slots=True)
class RefusedGeneration:
    """A newer generation that cannot be used, with the reason."""

    name: str
    error: CdesearchError
    tried: float  # the time of the attempt, on the clock of time.monotonic

    def may_be_usable(self) -> bool:
        """Return whether the user may have confirmed the generation since the attempt to open it.

        A build confirms its model only after its generation has become live.
        """
        return isinstance(self.error, IndexUntrustedError) and time.monotonic() > self.tried + CONFIRMING_SECONDS


class Searcher:
    """An open index with the model that built it. Any number of threads may use it.

    `close` or the end of a `with` block ends its threads. The model is loaded when a dense or hybrid query first needs
    it. `encoder` is a model that is already loaded, or a loader that several indexes share. Without it, a
    `ModelLoader` is created from `device` and `model`. `fusion` is a name in `cdesearch.search.fusion.FUSIONS`.
    """

    def __init__(
        self,
        index: Index,
        encoder: Encoder | ModelLoader | None = None,
        device: Device = "auto",
        model: Model | None = None,
        fusion: str = DEFAULT_FUSION,
    ) -> None:
        self.refused: RefusedGeneration | None = None  # the newer generation that the last `refresh` could not open
        self._given = encoder if isinstance(encoder, Encoder) else None
        self._models = encoder if isinstance(encoder, ModelLoader) else ModelLoader(device, model)
        self._fusion = FUSIONS[fusion]
        self._is_closed = False
        self._opening = Lock()
        self._executor = ThreadPoolExecutor(thread_name_prefix="cdesearch-text")
        self._newest = self._reader(index)  # a query uses one reader to its end, with the model of its generation

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the running searches, and end the threads."""
        self._is_closed = True
        self._executor.shutdown()

    @property
    def index(self) -> Index:
        """The newest generation that is open."""
        return self._newest.index

    @property
    def encoder(self) -> Encoder:
        """The model of the newest generation that is open.

        Raises ModelError, IndexUntrustedError, and IndexMismatchError if another model built the index.
        """
        return self._newest.encoder

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that measures texts: that of the model, or for a model on a server that of the default model.

        The server is not asked. Raises what `encoder` raises.
        """
        return self.encoder.tokenizer if self.index.manifest.served is None else default_tokenizer()

    @property
    def loaded_encoder(self) -> Encoder | None:
        """The model of the newest generation that is open, if it is loaded."""
        return self._newest.encoder if self._newest.has_encoder else None

    def search(self, query: str, k: int = 10, mode: Mode = "hybrid", path: PathFilter = None) -> SearchResult:
        """Return the `k` best chunks, best first.

        `path` is a glob relative to the indexed folder, a tuple of globs of which one must match, or a filter. If
        updates have removed the generation that was open, the newest generation is opened and searched. Raises
        QueryError for an invalid query, `k`, `mode` or `path`, and IndexStateError for an index that cannot be used.
        """
        return self.search_many([query], k, mode, path)[0]

    def search_many(
        self,
        queries: Sequence[str],
        k: int = 10,
        mode: Mode = "hybrid",
        path: PathFilter = None,
    ) -> list[SearchResult]:
        """Return for each query what `search` returns, all from one generation. Scores may differ by rounding.

        The parts of up to MANY queries are computed in parallel. The time of a result is that of all queries together.
        Raises what `search` raises.
        """
        started = time.perf_counter()
        for query in queries:
            check_query(query, k, mode, path)
        files = filter_of(path)

        def answer(reader: GenerationReader) -> list[SearchResult]:
            manifest = reader.index.manifest
            most = max(1, manifest.n_chunks)  # LanceDB allocates memory for k rows, so k is limited
            asked = [Query(query, min(k, most), mode, files) for query in queries]
            groups = (asked[start : start + MANY] for start in range(0, len(asked), MANY))
            found = [result for group in groups for result in reader.search_many(group)]
            name = reader.index.generation.name
            return [replace(result, generation=name, stage=manifest.stage) for result in found]

        results = self._ask(answer)
        seconds = time.perf_counter() - started
        return [replace(result, seconds=seconds) for result in results]

    def explain(
        self, chunk: str, query: str, k: int = 10, mode: Mode = "hybrid", path: PathFilter = None
    ) -> Explanation:
        """Explain why the search with these arguments found a chunk, given by its id.

        Raises QueryError if the search does not find the chunk, and IndexStateError for an index that cannot be used.
        """
        check_query(query, k, mode, path)
        files = filter_of(path)

        def answer(reader: GenerationReader) -> Explanation:
            most = max(1, reader.index.manifest.n_chunks)
            return explain(reader, Query(query, min(k, most), mode, files), chunk)

        return self._ask(answer)

    def has_file(self, path: PathFilter) -> bool:
        """Return whether `path`, as in `search`, allows any indexed file; raises QueryError and IndexStateError."""
        return self._ask(lambda reader: reader.files.has_file(filter_of(path)))

    def gather(self, query: Query, vectors: QueryVectors) -> tuple[GenerationReader, Gathered]:
        """Return the candidates of a search as `GenerationReader.gather`, and the reader of their chunks."""

        def answer(reader: GenerationReader) -> tuple[GenerationReader, Gathered]:
            most = max(1, reader.index.manifest.n_chunks)
            return reader, reader.gather(replace(query, k=min(query.k, most)), vectors)

        return self._ask(answer)

    def read(self, answer: Callable[[Index], Answer]) -> Answer:
        """Return what `answer` returns for the open generation, or for the newest one if updates have removed it."""
        return self._ask(lambda reader: answer(reader.index))

    def warm(self) -> None:
        """Load the model and the tables, so that the first search is as fast as later ones; raises CdesearchError."""
        _warm(self._newest)

    def refresh(self) -> bool:
        """Open the newest generation with `reload`, and return whether it was newer; keep the open one on an error.

        The newest generation is searched once before it answers queries. If it cannot be used, it is recorded in
        `refused`. It is not tried again unless the user may have confirmed it.
        """
        name, refused = "", self.refused
        try:
            name = self.index.storage.newest_name() or self.index.generation.name
            if refused is not None and refused.name == name and not refused.may_be_usable():
                return False
            is_newer = name != self.index.generation.name and self.reload(warm=True)
        except CdesearchError as error:
            self.refused = RefusedGeneration(name, error, time.monotonic())
            return False
        self.refused = None
        return is_newer

    def reload(self, *, warm: bool = False) -> bool:
        """Open the newest generation if it is newer than the open one, and return whether it was.

        If there is no newer generation, only CURRENT is read, in a bucket at most every few seconds. With `warm`, the
        newest generation is searched once before it answers queries. Otherwise neither tables are loaded, nor a model
        that is not loaded yet. Raises CdesearchError if the newest generation cannot be used.
        """
        self.check_usable()
        if self.index.storage.newest_name() == self.index.generation.name:
            return False
        with self._opening:
            before = self._newest
            newest = self._reader(_newest_index(before.index))
            if newest.index.generation == before.index.generation:  # another thread has opened it
                return False
            if warm:
                _warm(newest)
            elif before.has_encoder and newest.index.manifest.model_fingerprint == before.encoder.fingerprint:
                _ = newest.encoder  # the loaded model is shared as long as `before` keeps it
            self._newest = newest
        return True

    def check_usable(self) -> None:
        """Raise QueryError if the index has been closed, and IndexStateError in a process that was forked since."""
        claim_process()
        if self._is_closed:
            raise QueryError("This index has been closed.", "Open it again.")

    def _ask(self, answer: Callable[[GenerationReader], Answer]) -> Answer:
        self.check_usable()
        reader = self._newest
        while True:  # each iteration uses a newer generation
            try:
                return answer(reader)
            except IndexDamagedError:
                newest = self._opened_after(reader)
                if newest is None:
                    raise
                reader = newest

    def _opened_after(self, reader: GenerationReader) -> GenerationReader | None:
        """Open the newest generation in place of `reader`, and return it; None if there is no newer one."""
        with self._opening:
            if self._newest is reader:
                newest = Index(reader.index.place)
                if newest.generation == reader.index.generation:
                    return None
                self._newest = self._reader(newest)
            return self._newest

    def _reader(self, index: Index) -> GenerationReader:
        return GenerationReader(index, self._encoder_for, self._executor, self._fusion)

    def _encoder_for(self, index: Index) -> Encoder:
        if self._given is not None:
            index.check_encoder(self._given)
            return self._given
        return self._models.encoder_for(index)


def _newest_index(index: Index) -> Index:
    """Open the newest generation. If an update removes it meanwhile, the then newest one is opened."""
    while True:
        name = index.storage.newest_name()
        try:
            return Index(index.place)
        except IndexDamagedError:
            if index.storage.newest_name() == name:
                raise


def _warm(reader: GenerationReader) -> None:
    """Search once. Without the server that computes vectors, words can be searched, and later queries ask it again."""
    try:
        reader.search(Query("a", 1, "hybrid"))
    except ModelServerError:
        reader.search(Query("a", 1, "text"))


def filter_of(path: PathFilter) -> FileFilter:
    """Return the filter that the argument `path` of `Searcher.search` stands for."""
    return path if isinstance(path, FileFilter) else FileFilter((path,) if isinstance(path, str) else path)


def check_query(query: str, k: int, mode: str, path: PathFilter) -> None:
    """Raise QueryError if an argument of `Searcher.search` is invalid."""
    kinds = (("query", query, str), ("path", path, str | tuple | FileFilter | None), ("k", k, Integral))
    for name, value, kind in kinds:
        if not isinstance(value, kind):
            wanted, example = ("a whole number", "k=10") if name == "k" else ("a text", f'{name}="docs"')
            given = "a text" if isinstance(value, str) else type(value).__name__
            raise QueryError(f"{name} must be {wanted}, not {given}.", f"For example: {example}.")
    if not query.strip().strip('"“”').strip():
        raise QueryError("The query is empty.", "Type some words.")
    if any(0xD800 <= ord(character) <= 0xDFFF for character in query):  # surrogates stand for bytes that are not UTF-8
        raise QueryError("The query is not valid Unicode.", "Encode it in UTF-8.")
    if k < 1:
        raise QueryError(f"{k} is not a number of hits.", "Ask for at least one.")
    if mode not in get_args(Mode):
        raise QueryError(f"There is no mode {mode}.", f"Use one of {', '.join(get_args(Mode))}.")
