"""Take changes of files into an index while it is searched: small ones before the answer, larger ones afterwards.

The files are checked in a thread while the model loads or a search runs. If that takes long, they are checked at most
once in AGAIN_SECONDS, and only after the system has reported a change, if it reports all changes.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Lock, Thread, Timer
from typing import TYPE_CHECKING

from cdesearch.builders import BUILDER
from cdesearch.errors import NotIndexedError
from cdesearch.search.documents import Surroundings
from cdesearch.search.request import SearchRequest
from cdesearch.search.result import SearchResult
from cdesearch.store.changes import is_updatable, may_be_behind
from cdesearch.store.copies import shown_source
from cdesearch.store.index import Index
from cdesearch.store.schema import Hit

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from cdesearch.search.searcher import Searcher
    from cdesearch.search.together import Together

SECONDS = 0.5  # in which the files of an index must have been checked
LONG_SECONDS = 0.05  # a look at the files that takes longer is not repeated with each search
AGAIN_SECONDS = 0.3
WHOLE_SECONDS = 600.0  # until the files are looked at although no change was reported
UNCHECKED = (
    "This answer may lack changes of files, because there was no time to check them all. `cdesearch watch` keeps a"
    " large index up to date."
)


class Check:
    """The check of one index. Any number of threads may use it; one of them makes an update."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._begun = float("-inf")  # on the clock of time.monotonic
        self._took = 0.0  # seconds in which the last check looked at the files
        self._found: Future[bool] | None = None  # whether the index is behind; None if `end` has read it
        self._line: str | None = None  # about what the index lacked after the last check
        self._is_quiet: Callable[[], bool] | None = None  # whether no change was reported since it has looked

    def begin(self, index: Index) -> None:
        """Begin to check the files in a thread, unless that has just been done or has not ended yet."""
        with self._lock:
            is_soon = self._took > LONG_SECONDS and time.monotonic() < self._begun + AGAIN_SECONDS
            if self._found is None and not is_soon:
                self._begun = time.monotonic()
                found = self._found = Future()
                Thread(
                    target=lambda: found.set_result(self._is_behind(index)), name="cdesearch-check", daemon=True
                ).start()

    def _is_behind(self, index: Index) -> bool:
        if not is_updatable(index):
            return False
        if (is_quiet := self._is_quiet) is not None and self._line is None and is_quiet():
            return False
        self._is_quiet = quiet = BUILDER.quiet(index) if self._took > LONG_SECONDS else None
        if quiet is not None:  # a report may be lost, and those that nobody reads take memory
            ended = Timer(WHOLE_SECONDS, self._forget, [quiet])
            ended.daemon = True
            ended.start()
        started = time.monotonic()
        is_behind = may_be_behind(index)
        self._took = time.monotonic() - started
        return is_behind

    def _forget(self, quiet: Callable[[], bool]) -> None:
        if self._is_quiet is quiet:
            self._is_quiet = None

    def end(self, searcher: "Searcher") -> str | None:
        """Update the index if the check has found changes, and return a line about what it still lacks, if anything.

        Raises CdesearchError if the updated index cannot be opened.
        """
        with self._lock:
            if self._found is not None:
                try:
                    is_behind = self._found.result(max(0.0, self._begun + SECONDS - time.monotonic()))
                except TimeoutError:
                    return UNCHECKED
                encoder = searcher.loaded_encoder
                self._line = BUILDER.quick(searcher.index, encoder=encoder) if is_behind else None
                self._found, self._begun = None, time.monotonic()
                searcher.reload()
            return self._line


class UpToDate:
    """Open indexes whose answers have the small changes of their files. Any number of threads may use it.

    `members` are the open indexes, each with its check. `say` is called once for each line about what an answer lacks.
    """

    def __init__(
        self,
        opened: "Searcher | Together",
        members: "Sequence[tuple[Searcher, Check]]",
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._opened = opened
        self._members = members
        self._say = say
        self._said: set[str] = set()

    @property
    def indexes(self) -> Mapping[str, Index]:
        return self._opened.indexes

    @property
    def tokenizer(self) -> "Tokenizer":
        return self._opened.tokenizer

    def has_file(self, request: SearchRequest) -> bool:
        return self._opened.has_file(request)

    def around(self, hit: Hit, count: int) -> Surroundings:
        return self._opened.around(hit, count)

    def search(self, request: SearchRequest) -> SearchResult:
        result, lines = self.answer(request)
        for line in lines:
            if line not in self._said:
                self._said.add(line)
                self._say(line)
        return result

    def answer(self, request: SearchRequest) -> tuple[SearchResult, tuple[str, ...]]:
        """The best chunks, and lines about what they lack; raises CdesearchError.

        The search runs while the files are checked. If the index was updated, it is repeated.
        """
        for member, check in self._members:
            check.begin(member.index)
        before = self._generations
        try:
            result = self._opened.search(request)
        except NotIndexedError:  # a change may bring the field
            lines = self._taken_in()
            if self._generations == before:
                raise
            return self._opened.search(request), lines
        lines = self._taken_in()
        return result if self._generations == before else self._opened.search(request), lines

    @property
    def _generations(self) -> list[Path]:
        return [member.index.generation for member, _ in self._members]

    def _taken_in(self) -> tuple[str, ...]:
        found = [(member.index, check.end(member)) for member, check in self._members]
        if len(found) == 1:
            return tuple(line for _, line in found if line)
        return tuple(f"{shown_source(index.root)}: {line}" for index, line in found if line)
