"""The open indexes of a server. Each uses its newest generation, and indexes of the same model share it."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from cdesearch.cli.status import read_status
from cdesearch.errors import CdesearchError, InputError
from cdesearch.fresh import Check, UpToDate
from cdesearch.models.endpoint_model import Model
from cdesearch.search.request import SearchRequest
from cdesearch.search.result import SearchResult
from cdesearch.search.searcher import ModelLoader, Searcher
from cdesearch.search.together import Together
from cdesearch.store.index import Index, free_name
from cdesearch.store.place import Place
from cdesearch.store.trust import real

REFRESH_SECONDS = 0.25  # the time between two readings of the file that names the newest generation
Folders = Sequence[Place | None]

_log = logging.getLogger(__name__)


class ServedIndex:
    """One open index, always with its newest usable generation. Any number of threads may use it."""

    def __init__(self, name: str, searcher: Searcher) -> None:
        self.name = name  # unique within a server; clients select the index by it
        self.searcher = searcher  # looks for newer generations only when it is told to
        self.check = Check()

    @property
    def index(self) -> Index:
        return self.searcher.index

    def status(self) -> tuple[dict[str, Any], CdesearchError | None]:
        """What `cdesearch status` shows, and why the newest generation cannot be used; empty if it cannot be read."""
        problem = self.searcher.refused.error if self.searcher.refused else None
        try:
            return self.searcher.read(read_status), problem
        except CdesearchError as error:
            return {}, problem or error


class Selection:
    """One or several of the open indexes of a server, which are searched as one.

    With `takes_changes`, a search takes changes of files into them.
    """

    def __init__(self, members: Sequence[ServedIndex], *, takes_changes: bool = False) -> None:
        self.members = tuple(members)
        self.name = ", ".join(member.name for member in members)
        self.service: Searcher | Together = members[0].searcher
        if len(members) > 1:
            self.service = Together({member.name: member.searcher for member in members})
        self._takes_changes = takes_changes

    def answer(self, request: SearchRequest) -> tuple[SearchResult, tuple[str, ...]]:
        """The result of a search, and lines about changes of files that it lacks; raises CdesearchError."""
        if not self._takes_changes:
            return self.service.search(request), ()
        members = [(member.searcher, member.check) for member in self.members]
        return UpToDate(self.service, members).answer(request)


class ServedIndexes:
    """Open indexes by name, in the order in which they were given. `close` or the end of a `with` block closes them.

    A thread looks for new generations and opens them. If no index is open yet, `missing` returns what to open later.
    With `takes_changes`, searches take changes of files into the indexes; otherwise nothing or a `Watcher` does.
    """

    def __init__(
        self,
        indexes: Sequence[ServedIndex],
        missing: Callable[[], Folders] | None = None,
        *,
        takes_changes: bool = False,
    ) -> None:
        self._takes_changes = takes_changes
        self._indexes = {index.name: index for index in indexes}
        self._missing = missing
        self._opening = threading.Lock()
        self._closing = threading.Event()
        self._watcher = threading.Thread(target=self._refresh, name="cdesearch-refresh", daemon=True)
        self._watcher.start()

    @classmethod
    def open(
        cls, folders: Folders, model: Model | None = None, *, warm: bool = True, takes_changes: bool = False
    ) -> Self:
        """Open the index of each folder, as `Index.open` finds it; raises CdesearchError.

        With `warm`, the models are loaded now. Otherwise they are loaded when a search first needs them.
        """
        return cls(cls._opened(folders, model, warm=warm), takes_changes=takes_changes)

    @staticmethod
    def _opened(folders: Folders, model: Model | None, *, warm: bool) -> list[ServedIndex]:
        models = ModelLoader("auto", model)
        opened: dict[Place, ServedIndex] = {}
        try:
            for folder in folders:
                index = Index.open(folder)
                if real(index.place) not in opened:
                    name = free_name(index, {served.name for served in opened.values()})
                    served = opened[real(index.place)] = ServedIndex(name, Searcher(index, models))
                    if warm:
                        served.searcher.warm()
        except BaseException:
            for served in opened.values():
                served.searcher.close()
            raise
        return list(opened.values())

    def open_missing(self) -> None:
        """Open the indexes that were missing, unless they are open; raises CdesearchError."""
        with self._opening:
            if self._missing is not None:
                self._indexes = {served.name: served for served in self._opened(self._missing(), None, warm=False)}
                self._missing = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._closing.set()
        self._watcher.join()
        for served in self:
            served.searcher.close()

    def __getitem__(self, name: str | None) -> ServedIndex:
        """The index with this name, or the first one for None; raises InputError for an unknown name."""
        if name is None:
            return next(iter(self))
        if name not in self._indexes:
            known = ", ".join(self.names)
            raise InputError(f"There is no index {name:.80} here.", f"Use one of these names: {known}.")
        return self._indexes[name]

    def together(self, names: Sequence[str]) -> Selection:
        """The indexes with these names, to be searched as one, or all without a name; raises InputError."""
        return Selection([self[name] for name in dict.fromkeys(names or self.names)], takes_changes=self._takes_changes)

    def __iter__(self) -> Iterator[ServedIndex]:
        return iter(self._indexes.values())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._indexes)

    def _refresh(self) -> None:
        logged = ""
        while not self._closing.wait(REFRESH_SECONDS):
            for served in self:
                try:
                    served.searcher.refresh()
                except Exception as error:  # such as too many open files; the next attempt may succeed
                    if str(error) != logged:
                        _log.exception("The newest generation of %s cannot be opened.", served.name)
                    logged = str(error)
