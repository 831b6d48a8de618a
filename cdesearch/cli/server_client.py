"""Send a query to a server of the index on this computer, with the standard library only.

The functions return None if there is no server, or if the server has another version, serves another generation, is
too slow, or was started by another user. The caller then searches in its own process.
"""

import json
import os
import socket
import stat
import struct
from collections.abc import Mapping
from dataclasses import replace
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from cdesearch import __version__
from cdesearch.search.file_filter import FileFilter
from cdesearch.search.result import SearchResult
from cdesearch.store.index import Index
from cdesearch.store.line_places import LinePlaces
from cdesearch.store.place import Place
from cdesearch.store.schema import Chunk, Hit
from cdesearch.store.server_address import ServerRecord, read_record

TIMEOUT = 3.0  # seconds for each step of the request; a search in this process takes less than two
# The errors that an absent server, or a program that is not a server of cdesearch, can cause.
FAILURES = (OSError, HTTPException, ValueError, LookupError, TypeError, AttributeError, RecursionError)


def ask_server(index: Index, text: str, k: int, mode: str, files: FileFilter) -> SearchResult | None:
    """Return the result from the running server of `index`, or None if there is no usable server.

    The result is exactly that of a search in this process.
    """
    if files.paths == ():  # the HTTP API cannot express that no path may match
        return None
    record = read_record(index.place)
    if record is None or record.version != __version__:
        return None
    query = [("q", text), ("k", str(k)), ("mode", mode), ("index", record.name), *_restrictions(files)]
    try:
        answer = _get(record, f"search?{urlencode(query)}")
        is_same = answer["generation"] == index.generation.name
        return replace(_result(answer), stage=index.manifest.stage) if is_same else None
    except FAILURES:
        return None


def ask_server_of_several(
    indexes: Mapping[str, Index], text: str, k: int, mode: str, filters: Mapping[str, FileFilter]
) -> SearchResult | None:
    """Return the result from the one running server of all indexes, or None if there is no usable one.

    The filters must be the same for all indexes, which the HTTP API requires.
    """
    records = {name: read_record(index.place) for name, index in indexes.items()}
    first, files = next(iter(records.values())), next(iter(filters.values()))
    if first is None or first.version != __version__ or set(filters.values()) != {files} or files.paths == ():
        return None
    is_one = all(
        record is not None and replace(record, name=first.name, socket=first.socket) == first
        for record in records.values()
    )
    if not is_one:
        return None
    names = {record.name: name for name, record in records.items() if record is not None}
    query = [("q", text), ("k", str(k)), ("mode", mode), *(("index", name) for name in names), *_restrictions(files)]
    try:
        answer = _get(first, f"search?{urlencode(query)}")
        if answer["generation"] != " ".join(index.generation.name for index in indexes.values()):
            return None
        result = _result(answer)
        return replace(result, hits=tuple(_renamed(hit, names) for hit in result.hits), stage=answer["stage"])
    except FAILURES:
        return None


def _restrictions(files: FileFilter) -> list[tuple[str, str]]:
    """Return the parameters that restrict the files of a search."""
    query = [("path", glob) for glob in files.paths or ()] + [("type", suffix) for suffix in files.suffixes or ()]
    return query if files.since is None else [*query, ("since", f"@{files.since}")]


def _renamed(hit: Hit, names: Mapping[str, str]) -> Hit:
    """Return a hit with another name of its index; raises LookupError."""
    return replace(hit, index=names[hit.index or ""], copies=tuple(_renamed(copy, names) for copy in hit.copies))


def chunks_from_server(index: Index, hit: Hit, around: int) -> tuple[Chunk, ...] | None:
    """Return the chunk of a hit and `around` chunks on each side of it; None if the server does not answer."""
    record = read_record(index.place)
    if record is None:
        return None
    query = urlencode([("chunk", hit.chunk.id), ("around", str(around)), ("index", record.name)])
    try:
        answer = _get(record, f"documents/{quote(hit.chunk.document_id)}?{query}")
        return tuple(_chunk(answer | values) for values in answer["chunks"])
    except FAILURES:
        return None


def running_server(folder: Place) -> ServerRecord | None:
    """Return the record of the running server of the index in `folder`; None if there is none that answers.

    After a server was killed, another one may use its port, and another program may have its process number.
    """
    record = read_record(folder)
    try:
        return record if record is not None and _get(record, "healthz")["process"] == record.pid else None
    except FAILURES:
        return None


class _SocketConnection(HTTPConnection):
    """A connection to the Unix socket of a server that the same user has started."""

    def __init__(self, path: str, pid: int) -> None:
        super().__init__("localhost", timeout=TIMEOUT)
        self._path = path
        self._pid = pid  # of the server

    def connect(self) -> None:
        found = os.lstat(self._path)
        if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise PermissionError(f"{self._path} is not a private socket")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(TIMEOUT)
        self.sock.connect(self._path)
        if hasattr(socket, "SO_PEERCRED"):  # Linux
            credentials = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            if struct.unpack("3i", credentials)[:2] != (self._pid, os.geteuid()):
                raise PermissionError("another program listens there")


def _get(record: ServerRecord, address: str) -> dict[str, Any]:
    """The JSON object at this address; raises one of FAILURES."""
    headers = {} if record.token is None else {"Authorization": f"Bearer {record.token}"}
    connection = (
        HTTPConnection(urlsplit(record.address).netloc, timeout=TIMEOUT)
        if record.socket is None
        else _SocketConnection(record.socket, record.pid)
    )
    try:
        connection.request("GET", f"/api/v1/{address}", headers=headers)
        response = connection.getresponse()
        if response.status != 200:
            raise ConnectionError(f"the server answered with status {response.status}")
        return dict(json.loads(response.read()))
    finally:
        connection.close()


def _result(answer: dict[str, Any]) -> SearchResult:
    """The result in an answer, with the fields that are printed; raises one of FAILURES."""
    hits = tuple(map(_hit, answer["hits"]))
    return SearchResult(hits, answer["truncated_to"], answer["milliseconds"] / 1000)


def _hit(values: dict[str, Any]) -> Hit:
    return Hit(
        values["rank"],
        values["score"],
        _chunk(values),
        values["dense_score"],
        values["text_score"],
        values.get("confidence"),
        values.get("passage_line"),
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
        record=values["record"],
        ordinal=0,
        path=values["path"],
        title=values["title"],
        trail=trail,
        text=values["text"],
        body_start=0,
        line_start=values["line_start"],
        line_end=values["line_end"],
        page=values["page"],
        anchor=anchor,
        places=LinePlaces(tuple(trails), tuple(anchors), tuple(numbers)),
    )
