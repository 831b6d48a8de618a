"""Several processes read files in parallel; their results are returned in the order of the files."""

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from cdesearch.processors import available_processors
from cdesearch.store.file_account import Outcome
from indexer.files.outcome import Source
from indexer.workers.limits import Limits, Reading
from indexer.workers.messages import CHUNKS, DOCUMENTS, Message
from indexer.workers.process import START_SECONDS, Worker, cannot_start

BYTES_PER_WORKER = 500_000  # a process takes a third of a second to start: fewer files need fewer of them
MOST_WAITING_BYTES = 64_000_000  # of messages about files after the current one
MOST_FILES_AHEAD = 1000
CHECK_EVERY = 0.25  # seconds between two checks for workers that hang


@dataclass(frozen=True, slots=True)
class Begun:
    """A file was opened and hashed."""

    source: Source
    file_hash: str


@dataclass(frozen=True, slots=True)
class ReadChunks:
    """Some chunks of a file, as rows of the chunk schema; and the documents that are complete with them."""

    source: Source
    chunks: pa.RecordBatch
    documents: list[dict[str, Any]]  # id, title, n_chunks, n_records


@dataclass(frozen=True, slots=True)
class Ended:
    """A file has been read to its end, or cannot be read, or is not worth reading."""

    source: Source
    reason: str | None  # why it was not read; None if it was
    note: str = ""  # describes what was left out of a file that was read
    columns: tuple[str, ...] = ()  # the columns named by options that the file has, even if it cannot be read
    is_ignored: bool = False  # whether `reason` is a rule that ignores the file

    @property
    def outcome(self) -> Outcome:
        """The outcome of the file, as the file account lists it."""
        if self.reason is None:
            return "indexed"
        return "ignored" if self.is_ignored else "skipped"


Event = Begun | ReadChunks | Ended


def worker_count(sources: Sequence[Source]) -> int:
    """How many processes are worth starting, at most one per core."""
    worth = 1 + sum(source.size for source in sources) // BYTES_PER_WORKER
    return min(available_processors(), len(sources), worth)


class Pool:
    """Worker processes, each with a thread that feeds it. They start immediately; a `with` block ends them."""

    def __init__(self, n_workers: int) -> None:
        self._turn = threading.Condition()
        self._reading: Reading | None = None
        self._sources: Sequence[Source] = ()
        self._next = 0  # the first file that no worker has taken
        self._head = 0  # the file whose messages are being returned
        self._waiting: dict[int, deque[Message]] = {}
        self._waiting_bytes = 0
        self._workers: set[Worker] = set()
        self._closed = False
        self._failure: BaseException | None = None
        self._checked_at = 0.0  # when workers were last checked, on the clock of time.monotonic
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(n_workers)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every worker now."""
        # Ctrl-C may come when this thread has just acquired the lock, before its `with` block begins. The lock is then
        # still held, and the threads, which are joined below, would wait for it.
        with suppress(RuntimeError):  # the lock is free
            while True:
                self._turn.release()
        with self._turn:
            self._closed = True
            for worker in self._workers:
                worker.kill()
            self._turn.notify_all()
        for thread in self._threads:
            thread.join()

    def read(self, sources: Sequence[Source], reading: Reading) -> Iterator[Event]:
        """Events of the files, in their order; raises CdesearchError if no worker can be started."""
        with self._turn:
            self._sources, self._reading = sources, reading
            self._turn.notify_all()
        for number, source in enumerate(sources):
            with self._turn:
                self._head = number
                self._turn.notify_all()
            while True:
                message = self._take(number)
                kind = message.header["kind"]
                if kind == "begun":
                    yield Begun(source, str(message.header["hash"]))
                elif kind == "batch":
                    yield _batch(source, message)
                elif kind == "done":
                    yield _ended(source, message.header)
                    break

    def _take(self, number: int) -> Message:
        """Wait for the next message about a file; meanwhile, workers that hang are killed."""
        with self._turn:
            while True:
                if self._failure is not None:
                    raise self._failure
                waiting = self._waiting.get(number)
                if waiting:
                    message = waiting.popleft()
                    self._waiting_bytes -= message.size
                    if message.header["kind"] == "done":
                        del self._waiting[number]
                    self._turn.notify_all()
                    return message
                self._turn.wait(CHECK_EVERY)
                self._kill_hanging()

    def _kill_hanging(self) -> None:
        """Kill workers that take too long. They are checked at most once in CHECK_EVERY, however many messages come."""
        now = time.monotonic()
        if now < self._checked_at + CHECK_EVERY:
            return
        self._checked_at = now
        limits = self._reading.limits if self._reading else Limits()
        for worker in self._workers:
            awaited = worker.awaited
            if awaited is None:
                continue
            limit = limits.seconds if worker.is_ready else START_SECONDS
            if awaited.seconds() > limit:
                worker.kill(f"took longer than {limit:g} s")

    def _serve(self) -> None:
        """Start a worker and send it file after file, as the work of one thread. A worker ends with its thread."""
        worker: Worker | None = None
        try:
            worker = self._started()
            while not self._closed:
                number = self._claim()
                if number is None:
                    break
                worker = worker or self._started()
                if not self._read_one(worker, number):
                    self._collect(worker)
                    worker = None
        except BaseException as error:
            with self._turn:
                self._failure = None if self._closed else error
                self._turn.notify_all()
        finally:
            if worker is not None:
                self._collect(worker)

    def _started(self) -> Worker:
        worker = Worker()
        with self._turn:
            self._workers.add(worker)
            if self._closed:
                worker.kill()
        return worker

    def _collect(self, worker: Worker) -> str:
        with self._turn:
            self._workers.discard(worker)
        return worker.collect(self._limits.memory_bytes)

    @property
    def _limits(self) -> Limits:
        return self._reading.limits if self._reading else Limits()

    def _claim(self) -> int | None:
        """The next file to read; None if there is none."""
        with self._turn:
            while not self._closed:
                if self._reading is not None:
                    if self._next == len(self._sources):
                        return None
                    if self._next - self._head < MOST_FILES_AHEAD:
                        self._next += 1
                        return self._next - 1
                self._turn.wait()
        return None

    def _read_one(self, worker: Worker, number: int) -> bool:
        """Have a worker read one file; returns whether it can read another."""
        reading = self._reading
        if reading is None or not (worker.is_ready or self._set_up(worker, reading)):
            return self._failed(worker, number)
        source = self._sources[number]
        worker.send(_task(source))
        is_done = False
        while (message := worker.receive()) is not None:
            kind = message.header.get("kind")
            if kind in ("free", "retired"):
                return bool(kind == "free")
            is_done = kind == "done"
            self._put(number, message)
        return False if is_done else self._failed(worker, number)

    def _set_up(self, worker: Worker, reading: Reading) -> bool:
        ready = worker.receive()
        if ready is None:
            return False
        worker.send(Message(asdict(reading)))
        worker.is_ready = worker.receive() is not None
        return worker.is_ready

    def _failed(self, worker: Worker, number: int) -> bool:
        reason = self._collect(worker)
        if not worker.is_ready:
            raise cannot_start(reason)
        self._put(number, Message({"kind": "done", "reason": f"could not be read: {reason}"}))
        return False

    def _put(self, number: int, message: Message) -> None:
        """Pass a message on; one about a later file has to wait while too many are waiting."""
        with self._turn:
            while not self._closed and number != self._head and self._waiting_bytes > MOST_WAITING_BYTES:
                self._turn.wait()
            self._waiting.setdefault(number, deque()).append(message)
            self._waiting_bytes += message.size
            self._turn.notify_all()


def _task(source: Source) -> Message:
    top = str(source.top) if source.top is not None else None
    task = {"file": source.location, "path": source.path, "size": source.size, "mtime_ns": source.mtime_ns}
    return Message(task | {"top": top, "is_wanted": source.is_wanted})


def _ended(source: Source, header: dict[str, Any]) -> Ended:
    columns = tuple(header.get("columns", ()))
    return Ended(source, header["reason"], header.get("note", ""), columns, bool(header.get("is_ignored")))


def _batch(source: Source, message: Message) -> ReadChunks:
    chunks = pa.ipc.read_record_batch(pa.py_buffer(message.chunks), CHUNKS)
    documents = pa.ipc.read_record_batch(pa.py_buffer(message.documents), DOCUMENTS)
    return ReadChunks(source, chunks, documents.to_pylist())
