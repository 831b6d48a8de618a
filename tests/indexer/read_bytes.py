"""Read a text or bytes as if they were a file with a given name."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
from conftest import make_tokenizer

from indexer.documents.chunk import Chunker
from indexer.formats.format import Columns, LeftOut, OpenFile, UnreadableError
from indexer.formats.registry import read

CHUNKER = Chunker(make_tokenizer(), 64)


def read_bytes(name, data, columns=Columns(), left_out=None, *, is_wanted=False):  # noqa: B008 (frozen)
    """The documents of a file called `name` that contains `data`, one after another."""
    data = data.encode() if isinstance(data, str) else data
    return read(OpenFile(name, io.BytesIO(data), columns, left_out or LeftOut(), is_wanted=is_wanted))


def documents(name, data, left_out=None):
    return list(read_bytes(name, data, left_out=left_out))


def document(name, data, **options):
    """The only document of a file."""
    (found,) = read_bytes(name, data, **options)
    return found


def lines(name, data):
    """The lines of the text that are not blank, each with its number in the file."""
    found = document(name, data)
    texts = found.text.split("\n")
    return [(n, line) for n, line in zip(found.line_numbers or range(1, 10**6), texts, strict=False) if line.strip()]


def parquet(**columns):
    """A Parquet file of these columns."""
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def texts_or_reason(name, data):
    """The texts of the documents of a file, or why it is refused. A broken promise of a parser is an AssertionError."""
    texts, seen = [], set()
    try:
        for found in read_bytes(name, data):
            for text in (found.id, found.title, found.text, found.record or ""):
                assert isinstance(text, str)
                text.encode()
            chunks = list(CHUNKER.split(found))
            for chunk in chunks:
                assert len(chunk.title) + sum(map(len, chunk.trail)) < 5000
                "".join((chunk.id, chunk.document_id, chunk.text, chunk.title, *chunk.trail)).encode()
            if (found.id, found.record) not in seen:
                assert len({chunk.id for chunk in chunks}) == len(chunks)
            seen.add((found.id, found.record))
            texts.append(found.text)
    except UnreadableError as error:
        reason = str(error)
        assert "failed" not in reason and "cannot be split" not in reason, f"a parser stumbled: {reason}"
        assert reason and "\n" not in reason and len(reason.encode()) < 500
        return None, reason
    return texts, None
