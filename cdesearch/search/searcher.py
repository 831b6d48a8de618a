"""An open index that answers queries from its newest usable generation."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from tokenizers import Tokenizer

from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import Device, check_device, claim_process, default_tokenizer, load_encoder
from cdesearch.errors import (
    CdesearchError,
    IndexDamagedError,
    IndexMismatchError,
    IndexUntrustedError,
    ModelServerError,
    QueryError,
)
from cdesearch.models.endpoint_model import EndpointModel, Model
from cdesearch.search.documents import DocumentReader, Surroundings, surroundings_of
from cdesearch.search.explanation import Explanation, explain
from cdesearch.search.query_syntax import Query
from cdesearch.search.reader import GenerationReader
from cdesearch.search.request import Searches, SearchRequest, request_of
from cdesearch.search.result import SearchResult
from cdesearch.store.index import Index
from cdesearch.store.schema import Hit

MANY = 64  # queries whose candidates are in memory at the same time
CONFIRMING_SECONDS = 2  # the time between two attempts to open a generation that the user has not confirmed

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class RefusedGeneration:
    """A newer generation that cannot be used, with the reason."""

    name: str
    error: CdesearchError
    tried: float  # the time of the attempt, on the clock of time.monotonic

    def may_be_usable(self) -> bool:
        """Whether the user may have confirmed the generation since the attempt to open it.

        A build confirms its model only after its generation has become live.
        """
        return isinstance(self.error, IndexUntrustedError) and time.monotonic() > self.tried + CONFIRMING_SECONDS


class ModelLoader:
    """Loads the models of indexes. Any number of threads may use it.

    `model` is the model that the user names: a folder, an id that is in the cache, or the URL of a server. Without it,
    the model that the index names is used if the user has confirmed it. A model stays loaded as long as its encoder is
    referenced.
    """

    def __init__(self, device: Device = "auto", model: Model | None = None) -> None:
        check_device(device)
        self._device = device
        self._model = model
        self._loading = Lock()
        self._loaded: WeakValueDictionary[tuple[str, str], Encoder] = WeakValueDictionary()  # by fingerprint and URL

    def encoder_for(self, index: Index) -> Encoder:
        """The model of an index.

        Raises ModelError, IndexUntrustedError, and IndexMismatchError if another model built the index.
        """
        with self._loading:
            url = self._url(index)
            encoder = self._loaded.get((index.manifest.model_fingerprint, url))
            if encoder is None:
                if self._model is None:
                    index.require_trust(folders=False)
                plain = not index.manifest.added_context
                encoder = load_encoder(self._model_of(index, url), self._device, fetch=False, plain=plain)
                self._loaded[encoder.fingerprint, url] = encoder
        index.check_encoder(encoder)
        return encoder

    def _url(self, index: Index) -> str:
        """The URL of the server to ask; empty for a model that runs here."""
        manifest = index.manifest
        if isinstance(self._model, EndpointModel):
            return self._model.url
        if self._model is None and manifest.served is not None:
            return manifest.model or ""
        return ""

    def _model_of(self, index: Index, url: str) -> Model | None:
        served = index.manifest.served
        if url and served is not None:
            return served.at(url)
        if url:
            raise IndexMismatchError(
                "The index was not built by a model on a server.", "Leave --model out, or name the model that built it."
            )
        return self._model or index.model_to_open


class Searcher(Searches):
    """An open index with the model that built it. Any number of threads may use it.

    `close` or the end of a `with` block ends its threads. The model is loaded when a dense or hybrid query first needs
    it. `encoder` is a model that is already loaded, or a loader that several indexes share. Without it, a
    `ModelLoader` is created from `device` and `model`.
    """

    def __init__(
        self,
        index: Index,
        encoder: Encoder | ModelLoader | None = None,
        device: Device = "auto",
        model: Model | None = None,
    ) -> None:
        self.refused: RefusedGeneration | None = None  # the newer generation that the last `refresh` could not open
        self._given = encoder if isinstance(encoder, Encoder) else None
        self._models = encoder if isinstance(encoder, ModelLoader) else ModelLoader(device, model)
        self._is_closed = False
        self._opening = Lock()
        self._executor = ThreadPoolExecutor(thread_name_prefix="cdesearch-text")
        self._newest = self._reader(index)  # a query uses one reader to its end, with the model of its generation

    def close(self) -> None:
        self._is_closed = True
        self._executor.shutdown()

    @property
    def index(self) -> Index:
        """The newest generation that is open."""
        return self._newest.index

    @property
    def indexes(self) -> dict[str, Index]:
        """The newest generation that is open; its hits have no name of an index."""
        return {"": self.index}

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

    def _answers(self, requests: Sequence[SearchRequest]) -> list[SearchResult]:
        """The result of each request, all from one generation.

        If updates have removed the generation that was open, the newest generation is opened and searched. The parts of
        up to MANY queries that differ only in their words are computed in parallel. The time of a result is that of all
        queries together.
        """
        started = time.perf_counter()

        def answer(reader: GenerationReader) -> list[SearchResult]:
            alike = (list(group) for _, group in groupby(requests, _without_words))
            groups = (group[start : start + MANY] for group in alike for start in range(0, len(group), MANY))
            return [result for group in groups for result in reader.answer_alike(group)]

        results = self._on_newest(answer)
        seconds = time.perf_counter() - started
        return [
            replace(result, seconds=seconds).confident(request.min_confidence)
            for result, request in zip(results, requests, strict=True)
        ]

    def explain(self, chunk: str, query: str | SearchRequest, *arguments: Any, **filters: Any) -> Explanation:
        """Explain why `search` with the same arguments found a chunk, given by its id.

        Raises QueryError if the search does not find the chunk, and IndexStateError for an index that cannot be used.
        """
        request = request_of(query, *arguments, **filters)
        return self._on_newest(lambda reader: explain(reader, request, chunk))

    def has_file(self, request: SearchRequest) -> bool:
        """Whether the filters of a request allow any indexed file; raises QueryError and IndexStateError."""
        return self._on_newest(lambda reader: reader.files.has_file(request.files_of(reader.index)))

    def around(self, hit: Hit, count: int) -> Surroundings:
        """The text of at most `count` chunks before and after a hit; raises IndexStateError."""
        document = self.read(lambda index: DocumentReader(index).document(hit.chunk.document_id))
        return surroundings_of(document, hit.chunk.id, count)

    def read(self, answer: Callable[[Index], Answer]) -> Answer:
        """What `answer` returns for the open generation, or for the newest one if updates have removed it."""
        return self._on_newest(lambda reader: answer(reader.index))

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
        return self._newer_than(self._newest, warm=warm) is not None

    def check_usable(self) -> None:
        """Raise QueryError if the index has been closed, and IndexStateError in a process that was forked since."""
        claim_process()
        if self._is_closed:
            raise QueryError("This index has been closed.", "Open it again.")

    def _on_newest(self, answer: Callable[[GenerationReader], Answer]) -> Answer:
        self.check_usable()
        reader = self._newest
        while True:  # each iteration uses a newer generation
            try:
                return answer(reader)
            except IndexDamagedError:
                newest = self._newer_than(reader)
                if newest is None:
                    raise
                reader = newest

    def _newer_than(self, reader: GenerationReader, *, warm: bool = False) -> GenerationReader | None:
        """Open the newest generation in place of `reader`, and return it; None if there is no newer one."""
        with self._opening:
            if self._newest is reader:
                newest = self._reader(_newest_index(reader.index))
                if newest.index.generation == reader.index.generation:
                    return None
                if warm:
                    _warm(newest)
                elif reader.has_encoder and newest.index.manifest.model_fingerprint == reader.encoder.fingerprint:
                    _ = newest.encoder  # the loaded model is shared as long as `reader` keeps it
                self._newest = newest
            return self._newest

    def _reader(self, index: Index) -> GenerationReader:
        return GenerationReader(index, self._encoder_for, self._executor)

    def _encoder_for(self, index: Index) -> Encoder:
        if self._given is not None:
            index.check_encoder(self._given)
            return self._given
        return self._models.encoder_for(index)


def _without_words(request: SearchRequest) -> tuple[SearchRequest, Query]:
    """What requests have in common that differ only in their words."""
    return replace(request, text="-"), replace(request.query, words="-" if request.words else "")


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
        reader.answer_alike([SearchRequest("a", 1, facets=True)])
    except ModelServerError:
        reader.answer_alike([SearchRequest("a", 1, "text", facets=True)])
