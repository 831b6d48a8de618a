"""What answers queries: a running server of the indexes on this computer if there is one, otherwise this process.

NumPy, LanceDB and typer are imported only for a search in this process, because a server answers sooner than that.
"""

import json
import os
import socket
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlencode, urlsplit

from cdesearch import __version__
from cdesearch.errors import CdesearchError
from cdesearch.fresh import Check, UpToDate
from cdesearch.models.endpoint_model import Model
from cdesearch.search.documents import Surroundings, surroundings_of
from cdesearch.search.options import PARAMETERS
from cdesearch.search.request import SearchRequest
from cdesearch.search.result import SearchResult
from cdesearch.store.index import Index
from cdesearch.store.line_places import LinePlaces
from cdesearch.store.place import Place
from cdesearch.store.schema import Chunk, Hit
from cdesearch.store.server_address import ServerRecord, read_record
from cdesearch.store.trust import TrustRequest, unconfirmed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TIMEOUT = 3.0  # seconds for each step of the request; a search in this process takes less than two
MAX_AROUND = 50  # chunks on each side of a hit that a server returns at most
# The errors that an absent server, or a program that is not a server of cdesearch, can cause.
FAILURES = (OSError, HTTPException, ValueError, LookupError, TypeError, AttributeError, RecursionError)


class SearchService(Protocol):
    """One or more open indexes that answer queries."""

    @property
    def indexes(self) -> Mapping[str, Index]:
        """The newest generation of each index that is open, by the name that hits have; "" if there is only one."""

    @property
    def tokenizer(self) -> "Tokenizer": ...

    def search(self, request: SearchRequest) -> SearchResult: ...

    def has_file(self, request: SearchRequest) -> bool:
        """Whether the filters of a request allow any indexed file; raises CdesearchError."""

    def around(self, hit: Hit, count: int) -> Surroundings:
        """The text of at most `count` chunks before and after a hit; raises CdesearchError."""


def root_of(service: SearchService, hit: Hit) -> Path:
    """The folder to which the path of a hit is relative."""
    return service.indexes[hit.index or ""].root


def open_service(
    indexes: Mapping[str, Index],
    model: Model | None = None,
    *,
    asks_server: bool = True,
    say: Callable[[str], None] | None = None,
) -> SearchService:
    """What searches these indexes: a running server of all of them if there is one, otherwise this process.

    With `model`, or without `asks_server`, no server is asked. Nothing is loaded before the first search. With `say`,
    this process takes changes of files into the indexes (see `UpToDate`); a server watches the files by itself.
    """
    if asks_server and model is None:
        server = _find_server(indexes, lambda: _open_here(indexes, None, say))
        if server is not None:
            return server
    return _open_here(indexes, model, say)


def _open_here(indexes: Mapping[str, Index], model: Model | None, say: Callable[[str], None] | None) -> SearchService:
    checks = [Check() for _ in indexes]
    if say is not None:  # at once, so that the files are checked while libraries and the model are loaded
        for check, index in zip(checks, indexes.values(), strict=True):
            check.begin(index)
    from cdesearch.slim_imports import shorten_cold_start

    shorten_cold_start()
    if len(indexes) > 1:
        from cdesearch.search.together import Together

        together = Together.open(indexes, model=model)
        members = [*zip(together.members.values(), checks, strict=True)]
        return together if say is None else UpToDate(together, members, say)
    from cdesearch.search.searcher import Searcher

    searcher = Searcher(next(iter(indexes.values())), model=model)
    return searcher if say is None else UpToDate(searcher, [(searcher, checks[0])], say)


def _find_server(indexes: Mapping[str, Index], local: Callable[[], SearchService]) -> "RunningServer | None":
    """The running server of these indexes, or None if there is none of this version that serves all of them.

    The server has already loaded the models, so this process checks whether the user has confirmed them. `local` opens
    the indexes in this process.
    """
    records = {name: read_record(index.place) for name, index in indexes.items()}
    first = next(iter(records.values()))
    if first is None or first.version != __version__ or not all(map(_is_model_confirmed, indexes.values())):
        return None
    names: dict[str, str] = {}
    for name, record in records.items():
        if record is None or replace(record, name=first.name, socket=first.socket) != first:
            return None
        names[record.name] = name
    return RunningServer(first, indexes if len(indexes) > 1 else {"": next(iter(indexes.values()))}, names, local)


class RunningServer:
    """The indexes of a running server. What it cannot answer exactly is answered in this process.

    That is so if it serves another generation, is too slow, or was started by another user, if a filter allows no hit,
    and if the indexes need different filters, which the HTTP API cannot express.
    """

    def __init__(
        self,
        record: ServerRecord,
        indexes: Mapping[str, Index],
        names: Mapping[str, str],
        local: Callable[[], SearchService],
    ) -> None:
        """`names` are those of the indexes in this process, by those of the server."""
        self.indexes = indexes
        self._record = record
        self._names = names
        self._open = local
        self._opened: SearchService | None = None

    @property
    def tokenizer(self) -> "Tokenizer":
        return self._local.tokenizer

    def search(self, request: SearchRequest) -> SearchResult:
        """Exactly what a search in this process would return; raises CdesearchError."""
        result = self._asked(request)
        if result is None or (request.has_filter and not result.hits):
            return self._local.search(request)
        return result

    def has_file(self, request: SearchRequest) -> bool:
        return self._local.has_file(request)

    def around(self, hit: Hit, count: int) -> Surroundings:
        index = next((name for name, own in self._names.items() if own == hit.index), next(iter(self._names)))
        query = urlencode([("chunk", hit.chunk.id), ("around", str(count)), ("index", index)])
        try:
            answer = _get(self._record, f"documents/{quote(hit.chunk.document_id)}?{query}")
            chunks = tuple(_chunk(answer | values) for values in answer["chunks"])
        except FAILURES:
            return self._local.around(hit, count)
        return surroundings_of(chunks, hit.chunk.id, MAX_AROUND)

    @property
    def _local(self) -> SearchService:
        if self._opened is None:
            self._opened = self._open()
            self.indexes = self._opened.indexes
        return self._opened

    def _asked(self, request: SearchRequest) -> SearchResult | None:
        """The answer of the server; None if it has no usable one."""
        globs = {request.globs_of(request.path, index) for index in self.indexes.values()}
        # A server takes the globs in the text for relative to the indexed folder.
        is_typed = request.is_typed and (request.query.path or request.query.excluded_path)
        if len(globs) > 1 or () in globs or is_typed:
            return None
        (paths,) = globs
        values = replace(request, path=paths or ())
        query = [("q", request.text)]
        query += [(one.field, text) for one in PARAMETERS for text in one.texts_of(getattr(values, one.field))]
        try:
            answer = _get(self._record, f"search?{urlencode([*query, *(('index', name) for name in self._names)])}")
            if answer["generation"] != " ".join(index.generation.name for index in self.indexes.values()):
                return None
            hits = tuple(self._named(_hit(values)) for values in answer["hits"])
            return SearchResult(
                hits,
                answer["truncated_to"],
                answer["milliseconds"] / 1000,
                answer["generation"],
                str(answer["stage"]),
                total=answer["total"],
                searched=answer["searched"],
                unknown_name=answer["unknown_name"],
            )
        except FAILURES:
            return None

    def _named(self, hit: Hit) -> Hit:
        """A hit with the name of its index in this process; raises LookupError."""
        if hit.index is None:
            return hit
        return replace(hit, index=self._names[hit.index], copies=tuple(map(self._named, hit.copies)))


def _is_model_confirmed(index: Index) -> bool:
    try:
        return unconfirmed(index.place, TrustRequest(index.manifest.model)).is_empty
    except CdesearchError:
        return False


def running_server(folder: Place) -> ServerRecord | None:
    """The record of the running server of the index in `folder`; None if there is none that answers.

    After a server was killed, another one may use its port, and another program may have its process number.
    """
    record = read_record(folder)
    try:
        return record if record is not None and _get(record, "healthz")["process"] == record.pid else None
    except FAILURES:
        return None


class _SocketConnection(HTTPConnection):
    """A connection to the Unix socket of a server that the same user has started."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=TIMEOUT)
        self._path = path

    def connect(self) -> None:
        found = os.lstat(self._path)
        if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise PermissionError(f"{self._path} is not a private socket")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(TIMEOUT)
        self.sock.connect(self._path)


def _get(record: ServerRecord, address: str) -> dict[str, Any]:
    """The JSON object at this address; raises one of FAILURES."""
    headers = {} if record.token is None else {"Authorization": f"Bearer {record.token}"}
    connection = (
        HTTPConnection(urlsplit(record.address).netloc, timeout=TIMEOUT)
        if record.socket is None
        else _SocketConnection(record.socket)
    )
    try:
        connection.request("GET", f"/api/v1/{address}", headers=headers)
        response = connection.getresponse()
        if response.status != 200:
            raise ConnectionError(f"the server answered with status {response.status}")
        return dict(json.loads(response.read()))
    finally:
        connection.close()


def _hit(values: dict[str, Any]) -> Hit:
    return Hit(
        values["rank"],
        values["score"],
        _chunk(values),
        values["dense_score"],
        values["text_score"],
        values.get("confidence"),
        tuple(values.get("matches", ())),
        values.get("index"),
        tuple(map(_hit, values.get("copies", ()))),
    )


def _chunk(values: dict[str, Any]) -> Chunk:
    places = values["places"]
    (_, trail), *trails = ((line, tuple(trail)) for line, trail in places["trails"])
    (_, anchor), *anchors = map(tuple, places["anchors"])
    _, *numbers = map(tuple, places["numbers"])
    return Chunk(
        id=values["chunk"],
        document_id=values["document"],
        ordinal=0,
        trail=trail,
        body_start=0,
        anchor=anchor,
        places=LinePlaces(tuple(trails), tuple(anchors), tuple(numbers)),
        fields=tuple((name, value) for name, texts in values["fields"].items() for value in texts),
        **{name: values[name] for name in ("record", "path", "title", "text", "line_start", "line_end", "page")},
    )
