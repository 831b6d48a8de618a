"""Read JSON: values with the path of keys as the trail, and JSON Lines as records."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from indexer.formats.code import check_no_private_key, code_document
from indexer.formats.encoding import decode, stream_lines
from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.outline import MAX_VALUES, Outline, check_depth
from indexer.formats.records import TEXT_COLUMNS, Row, find_columns, row_documents

# Keys of members whose value is the name of the object, the best first
NAMES = {name: rank for rank, name in enumerate(("title", "name", "label", "id", "_id", "key"))}
MAX_NAME = 100  # characters of such a name
SHORT, SHORT_ITEMS = 120, 16  # characters and items of a list that stands on one line
SHOWN_NUMBERS = 8  # of a long list of numbers, which is a vector, a curve or a picture
SPACED_DEPTH = 2  # objects up to this depth are separated by a blank line
LARGE = 1_000_000  # bytes; smaller data cannot contain too many values
MAX_LINE = 50_000_000  # characters of a line of JSON Lines

_QUOTED = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_NOTE = r"//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)"
_COMMENT = re.compile(rf"({_QUOTED})|{_NOTE}", re.DOTALL)
_LAST_COMMA = re.compile(rf"({_QUOTED})|,(?=\s*[}}\]])", re.DOTALL)
_BYTES = re.compile(r"(?:\\u00[89a-f][0-9a-f])+")
_BETWEEN = re.compile(r"[\s,]*")
_TOKEN = re.compile(rf"{_QUOTED}|(?P<comment>{_NOTE})|[{{}}\[\]]|[^\s\"{{}}\[\],:]+", re.DOTALL)


class JsonFile(Format):
    """JSON, also with comments, and several values one after the other. What is not JSON is read as code.

    The objects of a list are records if the first one has a column of text, or if none contains another object.
    """

    suffixes = frozenset({
        ".json", ".jsonc", ".json5", ".geojson", ".topojson", ".jsonld", ".webmanifest", ".code-workspace", ".har",
        ".avsc", ".arb",
    })  # fmt: skip

    def read(self, file: OpenFile) -> Iterator[Document]:
        text = decode(file.stream.read())
        with suppress(UnicodeDecodeError):  # an export of Facebook has the bytes of each letter in UTF-8
            text = _BYTES.sub(lambda found: bytes.fromhex(found[0].replace("\\u00", "")).decode(), text)
        check_no_private_key(file, text)
        if sum(map(text.count, "[{,")) > MAX_VALUES:
            raise UnreadableError(f"JSON of more than {MAX_VALUES:,} values")
        try:
            try:
                values = _parsed(text)
                if file.columns.document is None and _are_records(values, file.columns.text):
                    records = zip(_lines_of_objects(text), parse_json(text.encode()), strict=True)
                    yield from row_documents(file, _rows(file, records))
                    return
            except json.JSONDecodeError:
                without = _COMMENT.sub(lambda match: match[1] or "\n" * match[0].count("\n"), text)
                values = _parsed(_LAST_COMMA.sub(lambda match: match[1] or "", without))
        except json.JSONDecodeError:
            yield code_document(file, text, "json")
            return
        writer = _Writer(text)
        for value in values:
            writer.write(value)
        writer.next_line()  # writes the comments at the end
        yield writer.outline.document(file)


def parse_json(data: bytes) -> Any:
    """The value in `data`; raises ValueError, also if it is nested too deep or has too many values.

    A number of thousands of digits, which Python refuses to convert, becomes a float.
    """
    if len(data) > LARGE and sum(data.count(sign) for sign in b"[{,") > MAX_VALUES:
        raise ValueError(f"more than {MAX_VALUES:,} values")
    try:
        return json.loads(
            data, strict=False, parse_int=lambda digits: int(digits) if len(digits) < 1000 else float(digits)
        )
    except RecursionError:
        raise ValueError("nested too deep") from None


class _Object(list[tuple[str, Any]]):
    """The members of an object, in which a key may occur twice."""


class _Number(str):
    """A number as it is written."""


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Object, parse_int=_Number, parse_float=_Number, parse_constant=_Number, strict=False
)


def _parsed(text: str) -> list[Any]:
    """The objects and lists of a text; raises JSONDecodeError for any other text."""
    values: list[Any] = []
    position = 0
    try:
        while (position := _BETWEEN.match(text, position).end()) < len(text):  # type: ignore[union-attr]
            value, position = _DECODER.raw_decode(text, position)
            values.append(value)
    except RecursionError:
        check_depth(len(text), "JSON")
    if not values or not all(isinstance(value, list) for value in values):
        raise json.JSONDecodeError("not JSON", text, 0)
    return values


def _are_records(values: list[Any], text_column: str | None) -> bool:
    objects = values[0] if len(values) == 1 and not isinstance(values[0], _Object) else []
    if len(objects) < 2 or not all(isinstance(one, _Object) for one in objects):
        return False
    if text_column is not None:
        return any(name == text_column for name, _ in objects[0])
    if any(name in TEXT_COLUMNS for name, _ in objects[0]):
        return True
    contents = (item for one in objects for _, value in one for item in (value if isinstance(value, list) else ()))
    return not any(isinstance(item, list | tuple) for item in contents)


def _lines_of_objects(text: str) -> Iterator[int]:
    """The lines on which the objects of a list begin."""
    depth, line, position = 0, 1, 0
    for token in _TOKEN.finditer(text):
        if token[0] == "{" and depth == 1:
            line, position = line + text.count("\n", position, token.start()), token.start()
            yield line
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)


class _Writer:
    """Writes values into an outline. The tokens of the text, which are in the same order, have their lines."""

    def __init__(self, text: str) -> None:
        self.outline = Outline()
        self._text = text
        self._tokens = _TOKEN.finditer(text)
        self._position, self._line = 0, 1

    def next_line(self) -> int:
        """The line of the next key, scalar or bracket. Comments before it are written."""
        while (token := next(self._tokens, None)) is not None:
            self._line += self._text.count("\n", self._position, token.start())
            self._position = token.start()
            if token["comment"] is None:
                break
            self.outline.line(token["comment"], self._line, is_spread=True)
        return self._line

    def write(self, value: list[Any], depth: int = 0, key: str | None = None, number: int = 0) -> None:
        """Write an object or a list, which is the value of `key` or the item `number` of a list.

        Raises UnreadableError if it is nested too deep.
        """
        check_depth(depth, "JSON")
        line = self.next_line()
        is_object = isinstance(value, _Object)
        label = "" if key is None else f"{key}:"
        listed = "" if is_object else _on_one_line(value) or _in_pieces(value)
        if listed or not (value or is_object):
            for _ in range(_n_tokens(value) - 2):
                self.next_line()
            text = f"{label} {listed}".strip()
            if text:
                self.outline.line(text if label else f"- {text}", line, max(0, depth - 1))
        else:
            if depth <= 1 or (depth <= SPACED_DEPTH and is_object and not label):
                self.outline.blank(line)
            if depth:
                self.outline.heading(depth, key if key is not None else _name(value) or f"[{number}]")
            if label:
                self.outline.line(label, line, depth - 1)
            self._write_items(value, depth)
        self.next_line()  # the bracket at the end

    def _write_items(self, value: list[Any], depth: int) -> None:
        is_object = isinstance(value, _Object)
        for number, item in enumerate(value):
            key, content = item if is_object else (None, item)
            if is_object:
                self.next_line()
            if isinstance(content, list):
                self.write(content, depth + 1, key, number)
                continue
            at = self.next_line()
            self.outline.line(f"- {_shown(content)}" if key is None else f"{key}: {_shown(content)}", at, depth)


def _shown(scalar: Any) -> str:
    return scalar if isinstance(scalar, str) else {None: "null", True: "true", False: "false"}[scalar]


def _name(value: list[Any]) -> str:
    """The value of the member that names an object in a list; "" if there is none."""
    if not isinstance(value, _Object):
        return ""
    named = [
        (NAMES[key.lower()], _shown(content))
        for key, content in value
        if key.lower() in NAMES and not isinstance(content, list) and _shown(content).strip()
    ]
    return " ".join(min(named, key=lambda one: one[0])[1].split())[:MAX_NAME] if named else ""


def _on_one_line(value: list[Any]) -> str:
    """The items of a list of a few short values, or the first ones of many numbers; "" for any other list."""
    if any(isinstance(item, list) for item in value):
        return ""
    if len(value) > SHOWN_NUMBERS and all(isinstance(item, _Number) for item in value):
        return f"{', '.join(value[:SHOWN_NUMBERS])}, … ({len(value) - SHOWN_NUMBERS:,} more numbers)"
    shown = [_shown(item) for item in value[: SHORT_ITEMS + 1]]
    if len(shown) > SHORT_ITEMS or sum(len(text) + 2 for text in shown) > SHORT:
        return ""
    return ", ".join(" ".join(text.split()) for text in shown)


def _in_pieces(value: list[Any]) -> str:
    """The text of a message of Telegram, whose links and emphases are objects between texts; "" for any other list."""
    if {*map(type, value)} != {str, _Object}:
        return ""
    pieces = [dict(item) if isinstance(item, _Object) else {"type": "", "text": item} for item in value]
    if not all("type" in one and type(one.get("text")) is str for one in pieces):
        return ""
    return "".join(f"{one['text']} ({one['href']})" if "href" in one else one["text"] for one in pieces)


def _n_tokens(value: Any) -> int:
    """The number of keys, scalars and brackets in a value."""
    if not isinstance(value, list):
        return 1
    return 2 + sum(1 + _n_tokens(one[1]) if isinstance(value, _Object) else _n_tokens(one) for one in value)


class JsonLines(Format):
    """JSON Lines. A line that cannot be read is left out and counted; the file is unreadable only if none can be."""

    suffixes = frozenset({".jsonl", ".ndjson", ".jsonlines", ".ldjson", ".geojsonl"})
    streams = True

    def read(self, file: OpenFile) -> Iterator[Document]:
        lines = enumerate(stream_lines(file.stream, MAX_LINE), start=1)
        yield from row_documents(file, _rows(file, ((number, line) for number, line in lines if line.strip())))


def _rows(file: OpenFile, records: Iterable[tuple[int, str | dict[str, Any]]]) -> Iterator[Row]:
    """The rows of records, each of which is an object or the JSON of one, with the line on which it begins."""
    lacking: UnreadableError | None = None  # the error of the first record that lacks a chosen column
    n_lacking = n_read = n_rows = 0  # all rows are counted, so that correcting one changes no id
    for n_rows, (line, record) in enumerate(records, start=1):
        try:
            row = _record(record) if isinstance(record, str) else record
            found = find_columns(row, file)
        except ValueError as error:
            file.left_out.add(line, str(error))
        except UnreadableError as error:
            lacking, n_lacking = lacking or error, n_lacking + 1
            file.left_out.add(line, f"has {error}")
        else:
            n_read += 1
            yield n_rows, line, found, [*row.items()]
    if n_rows and not n_read:
        if lacking is not None and n_lacking == n_rows:
            raise lacking  # the file is of another kind, and its first record says so
        none = f"none of its {n_rows:,} lines can be read: " if n_rows > 1 else ""
        raise UnreadableError(none + file.left_out.problems)


def _record(line: str) -> dict[str, Any]:
    """The value on a line; raises ValueError, whose message completes a sentence that begins with "line 7"."""
    try:
        # Without the end of the line, so that an error there has the number of this line, and without what a crash left
        row = parse_json(line.replace("\0", " ").rstrip().encode())
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON ({error.msg} at column {error.colno})") from None
    except ValueError as error:
        raise ValueError(f"is not JSON ({error})") from None
    if row and isinstance(row, list | str):  # values without names
        return {"": row}
    if not isinstance(row, dict):
        raise ValueError("is no JSON object, list or text")
    return row
