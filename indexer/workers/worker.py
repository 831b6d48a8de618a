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
from cdesearch.process_limits import bound_memory, data_bytes, die_with, write_no_core_file
from cdesearch.slim_imports import leave_out_pandas
from cdesearch.store.file_account import NO_TEXT
from cdesearch.store.opening import hash_contents, open_regular
from cdesearch.store.schema import Chunk, chunk_to_row
from cdesearch.words.detection import language_of
from cdesearch.words.known import ENGLISH
from indexer.documents.chunk import Chunker
from indexer.files.outcome import Source
from indexer.formats.format import Document, GeneratedError, LeftOut, OpenFile, Parts, UnreadableError
from indexer.formats.ocr import is_loaded
from indexer.formats.registry import format_of, is_packed, read
from indexer.workers.messages import CHUNKS, DOCUMENTS, Message, Reading, receive, send

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
    bound_memory(reader.limits.memory_bytes)
    send(answers, Message({"kind": "set"}))
    has_models = False
    while True:
        retire = reader.answer(tasks.get().header["files"])
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
    write_no_core_file()
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 (for the whole process)
    return answers


def _listen(stream: BinaryIO, tasks: "queue.SimpleQueue[Message]") -> None:
    while (task := receive(stream)) is not None:
        tasks.put(task)
    os._exit(0)  # the parent has ended, so nobody waits for an answer


class Reader:
    """Answers tasks. The answer to a task is the documents and chunks of its files."""

    def __init__(self, reading: Reading, answers: BinaryIO) -> None:
        self.limits = reading.limits
        self._reading = reading
        self._chunker = Chunker(Tokenizer.from_str(reading.tokenizer), reading.max_tokens)
        self._answers = answers

    def answer(self, files: list[dict[str, Any]]) -> bool:
        """Read files, send their contents and their outcomes; returns whether this process must end at once."""
        outbox, retire = _Outbox(self._answers, is_alone=len(files) == 1), False
        for file in files:
            if retire := self._answer(file, outbox):
                break
            outbox.progress()
        outbox.flush()
        return retire

    def _answer(self, file: dict[str, Any], outbox: "_Outbox") -> bool:
        top = Path(file["top"]) if file["top"] is not None else None
        source = Source(file["file"], file["path"], file["size"], file["mtime_ns"], top, bool(file["is_wanted"]))
        reason: str | None = None
        left_out, chosen = LeftOut(), set[str]()
        retire = is_ignored = has_text = False
        outbox.begin(None)
        try:
            most = self.limits.parts_seconds + source.size / self.limits.bytes_per_second
            parts = Parts(file["failed"], most, file["seconds"], outbox.enter)
            has_text = self._read(source, outbox, left_out, chosen, parts)
        except UnreadableError as error:
            reason = str(error)
            is_ignored = isinstance(error, GeneratedError)
        except CdesearchError as error:
            reason = f"{error.cause} {error.remedy}"
        except MemoryError:
            if outbox.part:  # only a worker that has ended is asked to read the file without this part
                os.write(2, b"MemoryError")
                os._exit(1)
            reason = f"could not be read: needs more than {self.limits.memory_bytes / 1e9:g} GB of memory"
            retire = True
        except OSError as error:
            reason = f"could not be read: {(error.strerror or type(error).__name__).lower()}"
        except BaseException as error:
            reason = f"could not be read: its parser failed ({type(error).__name__})"
        note = "; ".join(filter(None, ("" if has_text else NO_TEXT, str(left_out))))
        outbox.end({"reason": reason, "is_ignored": is_ignored, "note": note, "columns": sorted(chosen)})
        return retire

    def _read(self, source: Source, outbox: "_Outbox", left_out: LeftOut, chosen: set[str], parts: Parts) -> bool:
        """Send the contents of a file, and return whether it has text."""
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
                parts=parts,
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
            return bool(seen)


class _Outbox:
    """Collects the chunks and documents of files and sends them in messages of bounded size."""

    def __init__(self, answers: BinaryIO, *, is_alone: bool) -> None:
        self._answers = answers
        self._is_alone = is_alone
        self._chunks: list[dict[str, Any]] = []
        self._documents: list[dict[str, Any]] = []
        self._files: list[dict[str, Any]] = []  # those whose chunks and documents are collected, without the open one
        self._first_chunk, self._first_document = 0, 0  # of the open file
        self._hash: str | None = None
        self._characters = 0
        self._document, self._language = "", ENGLISH
        self._last_sent = time.monotonic()
        self.part = ""

    def begin(self, file_hash: str | None) -> None:
        """Note the hash of the open file; None until its contents are known.

        That of a file alone is sent, so that it is known even if the file ends this process.
        """
        self._hash = file_hash
        if self._is_alone and file_hash is not None:
            self._send_begun()

    def end(self, outcome: dict[str, Any]) -> None:
        """Close the open file; what is left of one that failed is not sent."""
        if outcome["reason"] is not None:
            del self._chunks[self._first_chunk :], self._documents[self._first_document :]
        self._close(len(self._documents), outcome)

    def progress(self) -> None:
        """Tell the parent that this process is still working, at most once a second."""
        if time.monotonic() - self._last_sent > 1:
            self._last_sent = time.monotonic()
            send(self._answers, Message({"kind": "working"}))

    def enter(self, part: str, seconds: float) -> None:
        """Tell the parent which part of a file is read from now on, "" for none, and how long all have taken."""
        self.part, self._last_sent = part, time.monotonic()
        send(self._answers, Message({"kind": "part", "part": part, "seconds": seconds}))

    def add(self, chunk: Chunk) -> None:
        """Add a chunk of the document that is being split, by default in the language of the chunk before it."""
        own = language_of(chunk.text)
        if own is not None or chunk.document_id != self._document:
            self._document, self._language = chunk.document_id, own or ENGLISH
        self._chunks.append(chunk_to_row(chunk, self._language))
        self._characters += len(chunk.text)
        if len(self._chunks) >= BATCH or self._characters > BATCH_CHARACTERS:
            self._send_begun()

    def close_document(self, document: Document, n_chunks: int) -> None:
        """Note that all chunks of a record or file were added; the next record may belong to the same document."""
        own = self._documents[-1] if len(self._documents) > self._first_document else None
        if own and own["id"] == document.id:
            own["n_chunks"] += n_chunks
            own["n_records"] += 1
        else:
            row = {"id": document.id, "path": document.path, "title": document.title}
            self._documents.append({**row, "n_chunks": n_chunks, "n_records": 1})
        if len(self._documents) > BATCH:
            self._send_begun()

    def flush(self) -> None:
        """Send everything that has not been sent yet."""
        if self._files:
            self._send(len(self._documents))

    def _send_begun(self) -> None:
        """Send what has been collected, but not the last document of the open file, which may get more records."""
        n_documents = max(self._first_document, len(self._documents) - 1)
        self._close(n_documents, None)
        self._send(n_documents)

    def _close(self, n_documents: int, outcome: dict[str, Any] | None) -> None:
        n_chunks = len(self._chunks) - self._first_chunk
        file = {"hash": self._hash, "n_chunks": n_chunks, "n_documents": n_documents - self._first_document}
        self._files.append(file | {"ended": outcome})
        self._first_chunk, self._first_document = len(self._chunks), n_documents

    def _send(self, n_documents: int) -> None:
        chunks = _serialised(self._chunks, CHUNKS)
        documents = _serialised(self._documents[:n_documents], DOCUMENTS)
        send(self._answers, Message({"kind": "read", "files": self._files}, chunks, documents))
        del self._documents[:n_documents]
        self._chunks, self._files = [], []
        self._first_chunk = self._first_document = self._characters = 0
        self._last_sent = time.monotonic()


def _serialised(rows: list[Any], schema: pa.Schema) -> bytes:
    return bytes(pa.RecordBatch.from_pylist(rows, schema=schema).serialize().to_pybytes())


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # the parent has ended
        main()
