"""The open indexes of a server. Each uses its newest generation, and indexes of the same model share it."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self, TypeVar

from tokenizers import Tokenizer

from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import Device
from cdesearch.errors import CdesearchError, InputError
from cdesearch.models.endpoint_model import Model
from cdesearch.search.documents import DocumentReader
from cdesearch.search.explanation import Explanation
from cdesearch.search.request import SearchRequest
from cdesearch.search.result import SearchResult
from cdesearch.search.searcher import ModelLoader, Searcher
from cdesearch.search.together import Together
from cdesearch.store.index import Index
from cdesearch.store.named_indexes import free_name
from cdesearch.store.schema import Hit
from cdesearch.store.trust import real

REFRESH_SECONDS = 0.25  # the time between two readings of the file that names the newest generation
ALL = "*"  # stands for all indexes where clients name one, unless a folder has this name

Answer = TypeVar("Answer")
_log = logging.getLogger(__name__)


class ServedIndex:
    """One open index, always with its newest usable generation. Any number of threads may use it."""

    def __init__(self, name: str, searcher: Searcher) -> None:
        self.name = name  # unique within a server; clients select the index by it
        self.searcher = searcher

    @property
    def index(self) -> Index:
        """The newest generation that is open."""
        return self.searcher.index

    @property
    def encoder(self) -> Encoder:
        """The model that built the newest generation that is open."""
        return self.searcher.encoder

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that measures texts, as `Searcher.tokenizer`."""
        return self.searcher.tokenizer

    @property
    def documents(self) -> DocumentReader:
        """The stored texts of the newest generation that is open."""
        return DocumentReader(self.index)

    @property
    def problem(self) -> CdesearchError | None:
        """The reason why the newest generation cannot be used; None if the newest generation is open."""
        return self.searcher.refused.error if self.searcher.refused else None

    @property
    def members(self) -> "tuple[ServedIndex, ...]":
        """This index alone, as `ServedTogether.members`."""
        return (self,)

    @property
    def state(self) -> str:
        """The name of the newest generation that is open."""
        return self.index.generation.name

    def of(self, hit: Hit) -> "ServedIndex":  # noqa: ARG002 (as `ServedTogether.of`)
        """Return the index of a hit, which is this one."""
        return self

    def search(self, request: SearchRequest) -> SearchResult:
        """Return the best chunks, best first; raises QueryError, and IndexStateError for one that cannot be used."""
        return self.searcher.search(request)

    def explain(self, chunk: str, request: SearchRequest) -> Explanation:
        """Explain why the search with these arguments found a chunk, given by its id.

        Raises QueryError if the search does not find the chunk, and IndexStateError for an index that cannot be used.
        """
        return self.searcher.explain(chunk, request)

    def has_file(self, request: SearchRequest) -> bool:
        """Return whether the filters of a request allow any indexed file."""
        return self.searcher.has_file(request)

    def read(self, answer: Callable[[Index], Answer]) -> Answer:
        """Return what `answer` returns for the open generation, or for the newest one if an update has removed it."""
        return self.searcher.read(answer)

    def refresh(self) -> bool:
        """Open the newest generation if it is newer than the open one, and return whether it was.

        Running searches finish in the generation in which they began. `problem` reports a generation that cannot be
        used.
        """
        return self.searcher.refresh()

    def warm(self) -> None:
        """Load the model and the tables, so that the first search is as fast as later ones; raises CdesearchError."""
        self.searcher.warm()

    def close(self) -> None:
        """Wait for the running searches, and end the threads."""
        self.searcher.close()


class ServedTogether:
    """Two or more of the open indexes of a server that are searched as one. Any number of threads may use it."""

    def __init__(self, members: Sequence[ServedIndex]) -> None:
        self.members = tuple(members)
        self._searcher = Together({member.name: member.searcher for member in members})

    @property
    def name(self) -> str:
        """The names of the indexes."""
        return ", ".join(member.name for member in self.members)

    @property
    def state(self) -> str:
        """The names of the newest generations that are open."""
        return " ".join(member.state for member in self.members)

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that measures texts: that of the first index."""
        return self.members[0].tokenizer

    def of(self, hit: Hit) -> ServedIndex:
        """Return the index of a hit."""
        return next(member for member in self.members if member.name == hit.index)

    def search(self, request: SearchRequest) -> SearchResult:
        """Return the best chunks of these indexes, as `Together.search`."""
        return self._searcher.search(request)

    def has_file(self, request: SearchRequest) -> bool:
        """Return whether the filters of a request allow any indexed file."""
        return self._searcher.has_file(request)


class ServedIndexes:
    """Open indexes by name, in the order in which they were given. `close` or the end of a `with` block closes them.

    A thread looks for new generations and opens them.
    """

    def __init__(self, indexes: Sequence[ServedIndex]) -> None:
        self._indexes = {index.name: index for index in indexes}
        self._closing = threading.Event()
        self._watcher = threading.Thread(target=self._refresh, name="cdesearch-refresh", daemon=True)
        self._watcher.start()

    @classmethod
    def open(
        cls, folders: Sequence[Path | None], device: Device = "auto", model: Model | None = None, *, warm: bool = True
    ) -> Self:
        """Open the index of each folder, as `Index.open` finds it; raises CdesearchError.

        With `warm`, the models are loaded now. Otherwise they are loaded when a search first needs them.
        """
        models = ModelLoader(device, model)
        opened: dict[Path, ServedIndex] = {}
        try:
            for folder in folders:
                index = Index.open(folder)
                if real(index.folder) not in opened:
                    name = free_name(index, {served.name for served in opened.values()})
                    served = opened[real(index.folder)] = ServedIndex(name, Searcher(index, models))
                    if warm:
                        served.warm()
        except BaseException:
            for served in opened.values():
                served.close()
            raise
        return cls(list(opened.values()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the running searches, and end the threads."""
        self._closing.set()
        self._watcher.join()
        for served in self:
            served.close()

    def __getitem__(self, name: str | None) -> ServedIndex:
        """Return the index with this name, or the first one for None; raises InputError for an unknown name."""
        if name is None:
            return next(iter(self))
        if name not in self._indexes:
            known = ", ".join(self.names)
            raise InputError(f"There is no index {name:.80} here.", f"Use one of these names: {known}.")
        return self._indexes[name]

    def together(self, names: Sequence[str]) -> ServedIndex | ServedTogether:
        """Return the indexes with these names, to be searched as one; ALL stands for all, and no name for the first.

        Raises InputError for an unknown name.
        """
        every = self.names if ALL in names and ALL not in self._indexes else tuple(dict.fromkeys(names))
        members = [self[name] for name in every or (None,)]
        return members[0] if len(members) == 1 else ServedTogether(members)

    def __iter__(self) -> Iterator[ServedIndex]:
        return iter(self._indexes.values())

    def __len__(self) -> int:
        return len(self._indexes)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all indexes."""
        return tuple(self._indexes)

    @property
    def buckets(self) -> tuple[str, ...]:
        """The addresses of the indexes that are in buckets."""
        return tuple(str(served.index.address) for served in self if served.index.address is not None)

    def _refresh(self) -> None:
        while not self._closing.wait(REFRESH_SECONDS):
            for served in self:
                try:
                    served.refresh()
                except Exception:  # such as too many open files; the next attempt may succeed
                    _log.exception("The newest generation of %s cannot be opened.", served.name)
