"""A process that reads and cuts files for another: `python -m indexer.workers.worker PARENT`.

Tasks come through stdin, answers go through stdout (`indexer.workers.messages`). It ends when stdin does.
"""

import io
import os
import queue
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import pyarrow as pa
from tokenizers import Tokenizer

from cdesearch.cli.slim_imports import leave_out_pandas
from cdesearch.errors import CdesearchError
from cdesearch.store.schema import Chunk, chunk_to_row
from indexer.documents.chunk import Chunker
from indexer.documents.read import read
from indexer.files.opening import hash_contents, open_regular
from indexer.files.walk import Source
from indexer.formats.format import Columns, LeftOut
from indexer.formats.registry import format_of
from indexer.formats.unreadable import UnreadableError
from indexer.workers.limits import Limits, bound_memory, data_bytes, die_with
from indexer.workers.messages import CHUNKS, DOCUMENTS, Message, receive, send

BATCH = 256  # chunks in one message
BATCH_CHARACTERS = 2_000_000
RETIRE_AT = 4  # a worker that still holds a quarter of its memory limit after a file is replaced by a fresh one


def main() -> None:
    """Serve until the parent has no more tasks."""
    leave_out_pandas()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C stops
    die_with(int(sys.argv[1]))
    answers = _answers()
    tasks: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, tasks), daemon=True).start()
    send(answers, Message({"kind": "ready"}))
    reader = Reader(tasks.get().header, answers)
    base = data_bytes() or 0
    bound_memory(reader.limits)
    send(answers, Message({"kind": "set"}))
    while True:
        retire = reader.answer(tasks.get().header)
        if retire or (data_bytes() or 0) > base + reader.limits.memory_bytes // RETIRE_AT:
            send(answers, Message({"kind": "retired"}))
            os._exit(0)
        send(answers, Message({"kind": "free"}))


def _answers() -> BinaryIO:
    """The stream of answers. What a library prints goes nowhere, and a crash leaves no file behind."""
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    if os.name == "posix":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 (for the whole process)
    return answers


def _listen(stream: BinaryIO, tasks: "queue.SimpleQueue[Message]") -> None:
    while (task := receive(stream)) is not None:
        tasks.put(task)
    os._exit(0)  # nobody waits for an answer any more


class Reader:
    """Answers tasks: the documents and chunks of one file each."""

    def __init__(self, settings: dict[str, Any], answers: BinaryIO) -> None:
        self.limits = Limits(**settings["limits"])
        self._chunker = Chunker(Tokenizer.from_str(settings["tokenizer"]), settings["max_tokens"])
        self._columns = Columns(**settings["columns"])
        self._max_file_bytes: int = settings["max_file_bytes"]
        self._answers = answers

    def answer(self, task: dict[str, Any]) -> bool:
        """Read one file and send what it holds, and how it ended; returns whether this process should end too."""
        top = Path(task["top"]) if task["top"] is not None else None
        source = Source(Path(task["file"]), task["path"], task["size"], task["mtime_ns"], top)
        outbox = _Outbox(self._answers)
        reason: str | None = None
        left_out = LeftOut()
        retire = False
        try:
            self._read(source, outbox, left_out)
            outbox.flush()
        except UnreadableError as error:
            reason = str(error)
        except CdesearchError as error:
            reason = f"{error.cause} {error.remedy}"
        except MemoryError:
            reason = f"could not be read: needs more than {self.limits.memory_bytes / 1e9:g} GB of memory"
            retire = True
        except OSError as error:
            reason = f"could not be read: {(error.strerror or type(error).__name__).lower()}"
        except BaseException as error:
            reason = f"could not be read: its parser failed ({type(error).__name__})"
        # Messages in the outbox are of a file that failed, or are sent: either way they are not needed any more.
        send(self._answers, Message({"kind": "done", "reason": reason, "note": str(left_out)}))
        return retire

    def _read(self, source: Source, outbox: "_Outbox", left_out: LeftOut) -> None:
        streams = format_of(PurePosixPath(source.path).name).streams
        with open_regular(source.file, source.top, outbox.progress if streams else lambda: None) as file:
            stream: Any = file
            if not streams:
                # At once, so that what is hashed is what is parsed even while somebody writes to it.
                data = file.read(max(self._max_file_bytes, source.size) + 1)
                if len(data) > max(self._max_file_bytes, source.size):
                    raise UnreadableError("grew while it was read")
                stream = io.BytesIO(data)
            outbox.begin(hash_contents(stream))
            seen: set[str] = set()
            for document in read(source, stream, self._columns, left_out):
                if len(document.text) > self.limits.characters:
                    raise UnreadableError(f"holds more than {self.limits.characters:,} characters of text")
                before = len(seen)
                for chunk in self._chunker.split(document):
                    if chunk.id not in seen:  # a record may stand there twice
                        seen.add(chunk.id)
                        outbox.add(chunk)
                outbox.close_document(document.id, document.title, len(seen) - before)


class _Outbox:
    """Collects what one file holds and sends it in messages of bounded size."""

    def __init__(self, answers: BinaryIO) -> None:
        self._answers = answers
        self._chunks: list[dict[str, str]] = []
        self._documents: list[dict[str, Any]] = []
        self._characters = 0
        self._told = time.monotonic()

    def begin(self, file_hash: str) -> None:
        """Say what the contents are."""
        send(self._answers, Message({"kind": "begun", "hash": file_hash}))

    def progress(self) -> None:
        """Say, once a second, that it goes on."""
        if time.monotonic() - self._told > 1:
            self._told = time.monotonic()
            send(self._answers, Message({"kind": "working"}))

    def add(self, chunk: Chunk) -> None:
        """One chunk of the document that is being cut."""
        self._chunks.append(chunk_to_row(chunk))
        self._characters += len(chunk.text)
        if len(self._chunks) == BATCH or self._characters > BATCH_CHARACTERS:
            self._send(self._documents[:-1])

    def close_document(self, name: str, title: str, n_chunks: int) -> None:
        """All chunks of a record or file are there; the next record may be of the same document."""
        if self._documents and self._documents[-1]["id"] == name:
            self._documents[-1]["n_chunks"] += n_chunks
            self._documents[-1]["n_records"] += 1
        else:
            self._documents.append({"id": name, "title": title, "n_chunks": n_chunks, "n_records": 1})
        if len(self._documents) > BATCH:
            self._send(self._documents[:-1])

    def flush(self) -> None:
        """Send what is left."""
        self._send(self._documents)

    def _send(self, documents: list[dict[str, Any]]) -> None:
        if not self._chunks and not documents:
            return
        chunks = _serialised(self._chunks, CHUNKS)
        sent = _serialised(documents, DOCUMENTS)
        send(self._answers, Message({"kind": "batch"}, chunks, sent))
        self._documents = self._documents[len(documents) :]
        self._chunks.clear()
        self._characters = 0
        self._told = time.monotonic()


def _serialised(rows: list[Any], schema: pa.Schema) -> bytes:
    return bytes(pa.RecordBatch.from_pylist(rows, schema=schema).serialize().to_pybytes())


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # the parent is gone
        main()
