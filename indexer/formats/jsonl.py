"""Read JSON Lines: each line is a record with columns of its own."""

import json
from collections.abc import Iterator
from typing import Any

from indexer.formats.encoding import stream_lines
from indexer.formats.format import Document, Format, OpenFile
from indexer.formats.json_file import parse_json
from indexer.formats.records import find_columns, record_document
from indexer.formats.unreadable import UnreadableError

MAX_LINE = 50_000_000  # bytes


class JsonLines(Format):
    """JSON Lines. A line that cannot be read is left out and counted; the file is unreadable only if none can be."""

    suffixes = frozenset({".jsonl", ".ndjson"})
    streams = True

    def read(self, file: OpenFile) -> Iterator[Document]:
        lacking: UnreadableError | None = None  # the error of the first line that lacks a column
        n_lacking = 0
        n_rows = 0  # including those that are left out, so that correcting one changes no id
        for number, line in enumerate(stream_lines(file.stream, MAX_LINE), start=1):
            if len(line) > MAX_LINE:
                raise UnreadableError(f"line {number} is longer than {MAX_LINE / 1e6:g} MB")
            if not line.strip():
                continue
            n_rows += 1
            try:
                row = _parsed(line)
                found = find_columns(row, file)
            except _LineError as error:
                file.left_out.add(number, str(error))
            except UnreadableError as error:
                lacking, n_lacking = lacking or error, n_lacking + 1
                file.left_out.add(number, f"has {error}")
            else:
                yield record_document(file.path, row, found, n_rows)
        if n_rows and file.left_out.n_lines == n_rows:
            if lacking is not None and n_lacking == n_rows:
                raise lacking  # the file is of another kind, and its first line says so
            none = f"none of its {n_rows:,} lines can be read: " if n_rows > 1 else ""
            raise UnreadableError(none + file.left_out.problems)


class _LineError(Exception):
    """A line is not a JSON object; the message completes a sentence that begins with the line's number."""


def _parsed(line: bytes) -> dict[str, Any]:
    """The object on a line; raises _LineError."""
    try:
        row = parse_json(line.rstrip())  # so that an error at the end has the number of this line and not the next
    except UnicodeDecodeError:
        raise _LineError("is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise _LineError(f"is not JSON ({error.msg} at column {error.colno})") from None
    except ValueError as error:
        raise _LineError(f"is not JSON ({error})") from None
    if not isinstance(row, dict):
        raise _LineError("is not a JSON object")
    return row
