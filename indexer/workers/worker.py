"""A process that reads and splits files for its parent: `python -m indexer.workers.worker PARENT`.

Tasks arrive on stdin, answers are written to stdout (see `indexer.workers.messages`). The process ends when stdin ends.
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

import msgspec
import pyarrow as pa
from tokenizers import Tokenizer

from cdesearch.errors import CdesearchError
from cdesearch.slim_imports import leave_out_pandas
from cdesearch.store.schema import Chunk, chunk_to_row
from cdesearch.words.detection import language_of
from cdesearch.words.known import ENGLISH
from indexer.documents.chunk import Chunker
from indexer.files.opening import hash_contents, open_regular
from indexer.files.outcome import Source
from indexer.formats.format import Document, GeneratedError, LeftOut, OpenFile, UnreadableError
from indexer.formats.ocr import is_loaded
from indexer.formats.registry import format_of, is_packed, read
from indexer.workers.limits import Reading, bound_memory, data_bytes, die_with
from indexer.workers.messages import CHUNKS, DOCUMENTS, Message, receive, send

BATCH = 256  # chunks in one message
BATCH_CHARACTERS = 2_000_000
RETIRE_AT = 4  # a worker that still uses a quarter of its memory limit after a file is replaced by a new one


def main() -> None:
    """Serve until the parent has no more tasks."""
    leave_out_pandas()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C stops
    die_with(int(sys.argv[1]))
    answers = _answers()
    tasks: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, tasks), daemon=True).start()
    send(answers, Message({"kind": "ready"}))
    reader = Reader(msgspec.convert(tasks.get().header, Reading), answers)
    bytes_at_start = data_bytes() or 0
    bound_memory(reader.limits)
    send(answers, Message({"kind": "set"}))
    has_models = False
    while True:
        retire = reader.answer(tasks.get().header)
        if is_loaded() and not has_models:  # the models of text recognition stay in memory, which is not a leak
            has_models, bytes_at_start = True, data_bytes() or 0
        if retire or (data_bytes() or 0) > bytes_at_start + reader.limits.memory_bytes // RETIRE_AT:
            send(answers, Message({"kind": "retired"}))
            os._exit(0)
        send(answers, Message({"kind": "free"}))


def _answers() -> BinaryIO:
    """The stream for answers. All other output of libraries is discarded, and a crash writes no core file."""
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
    os._exit(0)  # the parent has ended, so nobody waits for an answer


class Reader:
    """Answers tasks. The answer to a task is the documents and chunks of one file."""

    def __init__(self, reading: Reading, answers: BinaryIO) -> None:
        self.limits = reading.limits
        self._reading = reading
        self._chunker = Chunker(Tokenizer.from_str(reading.tokenizer), reading.max_tokens)
        self._answers = answers

    def answer(self, task: dict[str, Any]) -> bool:
        """Read one file, send its contents and its outcome; returns whether this process must end afterwards."""
        top = Path(task["top"]) if task["top"] is not None else None
        source = Source(task["file"], task["path"], task["size"], task["mtime_ns"], top, bool(task["is_wanted"]))
        outbox = _Outbox(self._answers)
        reason: str | None = None
        left_out, chosen = LeftOut(), set[str]()
        retire = is_ignored = False
        try:
            self._read(source, outbox, left_out, chosen)
            outbox.flush()
        except UnreadableError as error:
            reason = str(error)
            is_ignored = isinstance(error, GeneratedError)
        except CdesearchError as error:
            reason = f"{error.cause} {error.remedy}"
        except MemoryError:
            reason = f"could not be read: needs more than {self.limits.memory_bytes / 1e9:g} GB of memory"
            retire = True
        except OSError as error:
            reason = f"could not be read: {(error.strerror or type(error).__name__).lower()}"
        except BaseException as error:
            reason = f"could not be read: its parser failed ({type(error).__name__})"
        # What is left in the outbox belongs to a file that failed, and is not sent.
        done = {"kind": "done", "reason": reason, "is_ignored": is_ignored, "note": str(left_out)}
        send(self._answers, Message(done | {"columns": sorted(chosen)}))
        return retire

    def _read(self, source: Source, outbox: "_Outbox", left_out: LeftOut, chosen: set[str]) -> None:
        name = PurePosixPath(source.path).name
        with open_regular(source.file, source.top, outbox.progress) as file:
            stream: Any = file
            found = format_of(name, file)
            if not found.streams:
                # Read at once, so that the parsed bytes are the hashed bytes even while somebody writes to the file.
                most = max(self._reading.max_file_bytes, source.size)
                data = file.read(most + 1)
                if len(data) > most:
                    raise UnreadableError("grew while it was read")
                stream = io.BytesIO(data)
            outbox.begin(hash_contents(stream))
            seen: set[str] = set()
            n_characters = 0
            opened = OpenFile(
                source.path,
                stream,
                self._reading.columns,
                left_out,
                chosen,
                is_wanted=source.is_wanted,
                has_ocr=self._reading.has_ocr,
                progress=outbox.progress,
            )
            for n_records, document in enumerate(read(opened), start=1):
                if len(document.text) > self.limits.characters:
                    raise UnreadableError(f"has more than {self.limits.characters:,} characters of text")
                n_characters += len(document.text)
                self.limits.check_unpacked(n_characters, n_records, source.size, is_packed=is_packed(found))
                before = len(seen)
                for chunk in self._chunker.split(document):
                    if chunk.id not in seen:  # a file may contain a record twice
                        seen.add(chunk.id)
                        outbox.add(chunk)
                outbox.close_document(document, len(seen) - before)


class _Outbox:
    """Collects the chunks and documents of one file and sends them in messages of bounded size."""

    def __init__(self, answers: BinaryIO) -> None:
        self._answers = answers
        self._chunks: list[dict[str, Any]] = []
        self._documents: list[dict[str, Any]] = []
        self._characters = 0
        self._document, self._language = "", ENGLISH
        self._last_sent = time.monotonic()

    def begin(self, file_hash: str) -> None:
        """Send the hash of the contents."""
        send(self._answers, Message({"kind": "begun", "hash": file_hash}))

    def progress(self) -> None:
        """Tell the parent that this process is still working, at most once a second."""
        if time.monotonic() - self._last_sent > 1:
            self._last_sent = time.monotonic()
            send(self._answers, Message({"kind": "working"}))

    def add(self, chunk: Chunk) -> None:
        """Add a chunk of the document that is being split, by default in the language of the chunk before it."""
        own = language_of(chunk.text)
        if own is not None or chunk.document_id != self._document:
            self._document, self._language = chunk.document_id, own or ENGLISH
        self._chunks.append(chunk_to_row(chunk, self._language))
        self._characters += len(chunk.text)
        if len(self._chunks) == BATCH or self._characters > BATCH_CHARACTERS:
            self._send(self._documents[:-1])

    def close_document(self, document: Document, n_chunks: int) -> None:
        """Note that all chunks of a record or file were added; the next record may belong to the same document."""
        if self._documents and self._documents[-1]["id"] == document.id:
            self._documents[-1]["n_chunks"] += n_chunks
            self._documents[-1]["n_records"] += 1
        else:
            row = {"id": document.id, "path": document.path, "title": document.title}
            self._documents.append({**row, "n_chunks": n_chunks, "n_records": 1})
        if len(self._documents) > BATCH:
            self._send(self._documents[:-1])

    def flush(self) -> None:
        """Send everything that has not been sent yet."""
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
        self._last_sent = time.monotonic()


def _serialised(rows: list[Any], schema: pa.Schema) -> bytes:
    return bytes(pa.RecordBatch.from_pylist(rows, schema=schema).serialize().to_pybytes())


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # the parent has ended
        main()
