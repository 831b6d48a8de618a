"""Several processes read files in parallel; their results are returned in the order of the files."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any

from cdesearch.process_limits import available_processors
from indexer.files.outcome import Source
from indexer.formats.format import MOST_FAILED
from indexer.workers.messages import Limits, Message, Read, Reading, described, n_ended, read_message, tasks_of
from indexer.workers.process import START_SECONDS, Worker, cannot_start

BYTES_PER_WORKER = 500_000  # a process takes a third of a second to start: fewer files need fewer of them
MOST_WAITING_BYTES = 64_000_000  # of messages about files after the current one
MOST_TASKS_AHEAD = 100
CHECK_EVERY = 0.25  # seconds between two checks for workers that hang


def worker_count(sources: Sequence[Source]) -> int:
    """How many processes are worth starting, at most one per core."""
    worth = 1 + sum(source.size for source in sources) // BYTES_PER_WORKER
    return min(available_processors(), len(sources), worth)


class _Once:
    """Passes on what is told about a file once, although the file is read again from its start after a failure."""

    def __init__(self, put: Callable[[Message], None]) -> None:
        self._put = put
        self._hashes: list[int] = []  # of the messages that were passed on
        self.n_read = 0  # messages since the start of the file
        self.file_hash: str | None = None
        self.has_ended = False
        self.has_changed = False  # whether another message came than when the file was read before

    def add(self, message: Message) -> None:
        """Pass a message on, unless it was passed on before."""
        if self.has_ended or self.has_changed or n_ended(message) > 1:  # the worker is not what it was
            return
        said = hash((str(message.header), message.chunks, message.documents))
        if self.n_read < len(self._hashes):
            self.has_changed = said != self._hashes[self.n_read]
        else:
            self.has_ended, self.file_hash = n_ended(message) == 1, message.header["files"][-1]["hash"]
            self._hashes.append(said)
            self._put(message)
        self.n_read += 1


class Pool:
    """Worker processes, each with a thread that feeds it. They start immediately; a `with` block ends them."""

    def __init__(self, n_workers: int) -> None:
        self._turn = threading.Condition()
        self._reading: Reading | None = None
        self._tasks: Sequence[Sequence[Source]] = ()
        self._next = 0  # the first task that no worker has taken
        self._head = 0  # the task whose messages are being returned
        self._waiting: dict[int, deque[Message]] = {}
        self._waiting_bytes = 0
        self._workers: set[Worker] = set()
        self._closed = False
        self._failure: BaseException | None = None
        self._checked_at = 0.0  # when workers were last checked, on the clock of time.monotonic
        self._threads: list[threading.Thread] = []
        self.grow(n_workers)

    def grow(self, n_workers: int) -> None:
        """Start processes until there are `n_workers`."""
        while len(self._threads) < n_workers:
            self._threads.append(threading.Thread(target=self._serve, daemon=True))
            self._threads[-1].start()

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

    def read(self, sources: Sequence[Source], reading: Reading) -> Iterator[Read]:
        """What the files contain, in their order; raises CdesearchError if no worker can be started."""
        with self._turn:
            self._tasks, self._reading = tasks_of(sources), reading
            self._turn.notify_all()
        for number, task in enumerate(self._tasks):
            with self._turn:
                self._head = number
                self._turn.notify_all()
            ended = 0
            while ended < len(task):
                read = read_message(self._take(number), task[ended:])
                ended += sum(part.ended is not None for part in read.parts)
                yield read

    def _take(self, number: int) -> Message:
        """Wait for the next message about a task; meanwhile, workers that hang are killed."""
        with self._turn:
            while True:
                if self._failure is not None:
                    raise self._failure
                if waiting := self._waiting.get(number):
                    message = waiting.popleft()
                    self._waiting_bytes -= message.size
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
        limits = self._limits
        for worker in self._workers:
            awaited = worker.awaited
            if awaited is None:
                continue
            limit = limits.part_seconds if worker.part else limits.seconds if worker.is_ready else START_SECONDS
            if awaited.seconds() > limit:
                worker.kill(f"took longer than {limit:g} s")

    def _serve(self) -> None:
        """Start a worker and send it task after task, as the work of one thread. A worker ends with its thread."""
        worker: Worker | None = None
        try:
            worker = self._started()
            while not self._closed:
                number = self._claim()
                if number is None:
                    break
                worker = self._read(worker, number)
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
        with self._turn:
            while not self._closed:
                if self._reading is not None:
                    if self._next == len(self._tasks):
                        return None
                    if self._next - self._head < MOST_TASKS_AHEAD:
                        self._next += 1
                        return self._next - 1
                self._turn.wait()
        return None

    def _read(self, worker: Worker | None, number: int) -> Worker | None:
        """Have a worker read the files of a task, and each alone if it fails; returns a worker that can read more."""
        task = self._tasks[number]
        if len(task) > 1:
            worker = worker or self._started()
            messages: list[Message] = []
            is_whole = self._answers(worker, [described(source, {}) for source in task], messages.append)
            if is_whole and sum(map(n_ended, messages)) == len(task):
                for message in messages:
                    self._put(number, message)
                return worker
            self._fail(worker)
            worker = None
        for source in task:
            worker = self._read_alone(worker or self._started(), source, number)
        return worker

    def _read_alone(self, worker: Worker, source: Source, number: int) -> Worker | None:
        """Read a file, and again without each part of it that has ended the worker."""
        told = _Once(partial(self._put, number))
        failed, reason = dict[str, str](), "its process failed"
        can_go_on = self._answers(worker, [described(source, failed)], told.add)
        while not can_go_on:
            reason = self._fail(worker)
            is_final = told.has_ended or told.has_changed or len(failed) == MOST_FAILED
            if is_final or worker.part in ("", *failed):
                break
            failed[worker.part], seconds, worker = reason, worker.seconds, self._started()
            told.n_read = 0
            can_go_on = self._answers(worker, [described(source, failed, seconds)], told.add)
        if not told.has_ended:
            ended = {"reason": "changed while it was read" if told.has_changed else f"could not be read: {reason}"}
            file = {"hash": told.file_hash, "n_chunks": 0, "n_documents": 0, "ended": ended}
            self._put(number, Message({"files": [file]}))
        return worker if can_go_on else None

    def _answers(self, worker: Worker, files: list[dict[str, Any]], put: Callable[[Message], None]) -> bool:
        """Pass on what a worker reads in some files; returns whether it has read them and can read more."""
        if self._reading is not None and not worker.is_ready and worker.receive() is not None:
            worker.send(Message(asdict(self._reading)))
            worker.is_ready = worker.receive() is not None
        if not worker.is_ready:
            return False
        worker.part = ""
        worker.send(Message({"files": files}))
        while (message := worker.receive()) is not None:
            kind = message.header.get("kind")
            if kind in ("free", "retired"):
                return bool(kind == "free")
            if kind == "read":
                put(message)
            elif kind == "part":
                worker.part, worker.seconds = str(message.header.get("part")), float(message.header.get("seconds", 0))
        return False

    def _fail(self, worker: Worker) -> str:
        """End a worker that has failed, and return why; raises CdesearchError if it never began."""
        reason = self._collect(worker)
        if not worker.is_ready:
            raise cannot_start(reason)
        return reason

    def _put(self, number: int, message: Message) -> None:
        """Pass a message on; one about a later task has to wait while too many are waiting."""
        with self._turn:
            while not self._closed and number != self._head and self._waiting_bytes > MOST_WAITING_BYTES:
                self._turn.wait()
            self._waiting.setdefault(number, deque()).append(message)
            self._waiting_bytes += message.size
            self._turn.notify_all()
