"""Read JSON: a line for each value, and the path of keys as the trail."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from indexer.formats.code import code_document
from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format, OpenFile
from indexer.formats.outline import Outline, check_depth, check_values, readable

# Keys of members whose value is the name of the object, the best first
NAMES = {name: rank for rank, name in enumerate(("title", "name", "label", "id", "_id", "key"))}
MAX_NAME = 100  # characters of such a name
SHORT = 120  # characters of a list that stands on one line
SHOWN_NUMBERS = 8  # of a long list of numbers, which is a vector, a curve or a picture
SPACED_DEPTH = 2  # objects up to this depth are separated by a blank line

# JSON, and the comments and quotes of its variants JSONC and JSON5. Each match takes time in proportion to its length.
_QUOTED = r"""(?:"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')"""
_TOKEN = re.compile(
    rf"(?P<blank>[\s,]+|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z))"
    rf"|(?P<key>(?:{_QUOTED}|[A-Za-z_$][\w$]*)\s*+:)|(?P<string>{_QUOTED})|(?P<sign>[{{}}\[\]])"
    r"|(?P<number>-?\.?\d[\w.+-]*)|(?P<word>true\b|false\b|null\b|[-+]?(?:Infinity|NaN)\b)|(?P<other>.)",
    re.DOTALL,
)


class JsonFile(Format):
    """JSON, also with comments, and several values one after the other. What is not JSON is read as code."""

    suffixes = frozenset({
        ".json", ".jsonc", ".json5", ".geojson", ".topojson", ".jsonld", ".webmanifest", ".code-workspace", ".har",
        ".avsc", ".arb",
    })  # fmt: skip

    def read(self, file: OpenFile) -> Iterator[Document]:
        text = decode(file.stream.read())
        check_values(text, "[{,", "JSON")
        outline = Outline()
        try:
            _Writer(text, outline).write()
        except _NotJsonError:
            yield code_document(file, text, "json")
        else:
            yield outline.document(file)


class _NotJsonError(Exception):
    """The text is not JSON."""


@dataclass(slots=True)
class _Container:
    """An object or list that is open."""

    is_object: bool
    label: str  # what its first line begins with
    number: int  # of the line where it begins
    title: str = ""  # of its heading, until the value of a member replaces it
    heading: int | None = None
    rank: int = len(NAMES)  # of the member whose value is the heading
    key: str | None = None  # that awaits its value
    count: int = 0  # of the items of a list
    is_written: bool = False  # whether its first line is
    short: list[tuple[str, int]] = field(default_factory=list)  # the first items, and their lines
    left_out: int = 0  # numbers that are not shown
    only_numbers: bool = True


class _Writer:
    """Writes the values of a text into an outline."""

    def __init__(self, text: str, outline: Outline) -> None:
        self._text = text
        self._outline = outline
        self._open: list[_Container] = []

    def write(self) -> None:
        """Write all values; raises _NotJsonError, or UnreadableError for text that is nested too deep."""
        number, n_values = 1, 0
        for match in _TOKEN.finditer(self._text):
            kind, token = match.lastgroup, match[0]
            top = self._open[-1] if self._open else None
            if kind == "sign":
                n_values += 1
                self._open_or_close(token, number)
            elif kind == "key":
                if top is None or not top.is_object or top.key is not None:
                    raise _NotJsonError
                name = token[:-1].rstrip()
                top.key = _string(name) if name[0] in "\"'" else name
            elif kind != "blank":
                if kind == "other" or top is None or (top.is_object and top.key is None):
                    raise _NotJsonError
                self._scalar(top, _string(token) if kind == "string" else token, number, is_number=kind == "number")
            if "\n" in token:
                number += token.count("\n")
        if self._open or not n_values:
            raise _NotJsonError

    def _open_or_close(self, sign: str, number: int) -> None:
        if sign in "}]":
            self._end(sign == "}")
        elif self._open and self._open[-1].is_object and self._open[-1].key is None:
            raise _NotJsonError
        else:
            self._begin(sign == "{", number)

    def _begin(self, is_object: bool, number: int) -> None:
        depth = len(self._open)
        check_depth(depth, "JSON")
        top = self._open[-1] if self._open else None
        opened = _Container(is_object, "", number)
        if top is not None:
            self._write_start(top, depth - 1)
            self._write_items(top)
            opened.label = f"{top.key}:" if top.is_object else ""
            opened.title = top.key if top.key is not None else f"[{top.count}]"
            top.count += 1
            top.key = None
        self._open.append(opened)

    def _end(self, is_object: bool) -> None:
        if not self._open or self._open[-1].is_object != is_object or self._open[-1].key is not None:
            raise _NotJsonError
        closed = self._open[-1]
        if not closed.is_written and not is_object and sum(len(text) + 2 for text, _ in closed.short) <= SHORT:
            self._write_list(closed)
        else:
            self._write_start(closed, len(self._open) - 1)
            self._write_items(closed)
        self._open.pop()

    def _scalar(self, top: _Container, value: str, number: int, *, is_number: bool) -> None:
        value = readable(value)
        if top.is_object:
            self._write_start(top, len(self._open) - 1)
            key, top.key = top.key or "", None
            rank = NAMES.get(key.lower(), top.rank)
            if rank < top.rank and value.strip() and not top.label:  # a key is a better heading
                self._outline.rename(top.heading, " ".join(value.split())[:MAX_NAME])
                top.rank = rank
            self._outline.line(f"{key}: {value}", number, len(self._open) - 1)
            return
        top.count += 1
        top.only_numbers = top.only_numbers and is_number
        if is_number and len(top.short) >= SHOWN_NUMBERS and top.only_numbers:
            top.left_out += 1
        else:
            top.short.append((value, number))
            if len(top.short) > 2 * SHOWN_NUMBERS:
                self._write_start(top, len(self._open) - 1)
                self._write_items(top)

    def _write_start(self, container: _Container, depth: int) -> None:
        """Begin a container that has `depth` others around it, once: with a heading and the line of its key."""
        if container.is_written:
            return
        container.is_written = True
        if depth <= 1 or (depth <= SPACED_DEPTH and container.is_object and not container.label):
            self._outline.blank(container.number)
        if depth:
            container.heading = self._outline.heading(depth, container.title)
        if container.label:
            self._outline.line(container.label, container.number, depth - 1)

    def _write_items(self, container: _Container) -> None:
        depth = len(self._open) - 1
        for text, number in container.short:
            self._outline.line(f"- {text}", number, depth)
        if container.left_out:
            self._outline.line(f"… ({container.left_out:,} more numbers)", container.number, depth)
        container.short.clear()
        container.left_out = 0

    def _write_list(self, container: _Container) -> None:
        """Write a list of a few short values on one line."""
        values = ", ".join(" ".join(text.split()) for text, _ in container.short)
        more = f", … ({container.left_out:,} more numbers)" if container.left_out else ""
        line = f"{container.label} {values}{more}".strip()
        if line:
            self._outline.line(line if container.label else f"- {line}", container.number, max(0, len(self._open) - 2))


def _string(token: str) -> str:
    """The value of a string in quotes; one with a wrong escape stays as it is."""
    if "\\" not in token:
        return token[1:-1]
    try:
        return str(json.loads(token if token[0] == '"' else f'"{token[1:-1]}"', strict=False))
    except ValueError:
        return token[1:-1]
