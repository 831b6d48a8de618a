"""The tool `read` returns a range of the stored text of one document, within a budget of tokens."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from cdesearch.cli.passage_text import readable, span
from cdesearch.errors import InputError
from cdesearch.search.fence import Fence
from cdesearch.serve.indexes import ServedIndex, ServedIndexes
from cdesearch.serve.mcp.answers import Answer, Budget, Part, make_cursor
from cdesearch.serve.mcp.documents import NamedDocument, Unit, find_document, index_and_path
from cdesearch.terminal import printable

_PLURALS: dict[Unit, str] = {"lines": "lines", "page": "pages", "part": "parts"}
_RANGE = re.compile(r"(\d{1,9})(?:\s*-\s*(\d{0,9}))?")


def read(indexes: ServedIndexes, index: str | None, path: str, ranges: Mapping[Unit, str], part: Part) -> Answer:
    """The requested range of a document, or as much of it as fits into the budget; raises CdesearchError.

    `ranges` has one range such as "10-40", by its unit, or is empty for the whole document.
    """
    served, path = index_and_path(indexes, index, path)
    document = find_document(indexes, served, path)
    ranges = ranges or document.ranges
    positions = _positions(document, ranges)
    call = "read", document.path, *sorted(ranges.items())
    start, offset = part.start(served, call)
    if start or offset:
        positions = range(max(start, positions.start), positions.stop)
    return _Extract(served, document, call, positions, offset).answer(Budget(part.max_tokens, served.tokenizer))


def _positions(document: NamedDocument, ranges: Mapping[Unit, str]) -> range:
    """The positions of the requested lines in the document, or of all lines if no range is requested."""
    if len(ranges) > 1:
        raise InputError(f"Both {' and '.join(ranges)} are given.", "Use only one of them.")
    if not ranges:
        return range(len(document.lines))
    ((unit, value),) = ranges.items()
    plural = _PLURALS[document.unit]
    if unit != document.unit:
        raise InputError(
            f"{document.path:.200} has {plural}, not {_PLURALS[unit]}.",
            f'Use for example {document.unit}="1-{document.total}".',
        )
    positions = document.within(*_parsed(unit, value))
    if not positions:
        raise InputError(
            f"{document.path:.200} has only {document.total:,} {plural}.",
            f"Use a smaller number in the parameter {unit}.",
        )
    return positions


def _parsed(name: str, value: str) -> tuple[int, int]:
    """The first and last number of a range such as "10-40", "10" or "10-"; raises InputError."""
    match = _RANGE.fullmatch(value.strip())
    if match is None:
        raise InputError(f"{name} cannot be {value!r:.60}.", f'Use a range such as {name}="10-40", or one number.')
    first = int(match[1])
    last = first if match[2] is None else int(match[2] or 10**9)
    if not 1 <= first <= last:
        raise InputError(f"{name} cannot be {value!r:.60}.", "Numbers start at 1, and the smaller one comes first.")
    return first, last


@dataclass(frozen=True, slots=True)
class _Extract:
    """Consecutive lines of a document, and how an answer shows as many of them as fit into its budget."""

    served: ServedIndex
    document: NamedDocument
    call: tuple[object, ...]
    positions: range  # positions in `document.lines`
    offset: int  # the number of characters of the first line that an earlier answer has shown
    fence: Fence = field(default_factory=Fence)

    def answer(self, budget: Budget) -> Answer:
        """An answer with as many whole lines as fit, or with a part of the first line; raises InputError."""
        lines = [readable(self.document.lines[at].text) for at in self.positions]
        if lines:
            lines[0] = lines[0][self.offset :]
        n_lines, answer = budget.largest(lambda n: self._with(lines[:n]), min(len(lines), budget.characters))
        if n_lines or not lines:
            return answer
        n_most = min(len(lines[0]), budget.characters)
        n_characters, answer = budget.largest(lambda n: self._with([lines[0][:n]], n), n_most)
        if not n_characters:
            raise budget.too_small()
        return answer

    def _with(self, lines: list[str], cut: int = 0) -> Answer:
        """The answer with these whole lines, or with the first `cut` characters of the first line."""
        start, stop = self.positions.start, self.positions.stop
        following, offset = (start, self.offset + cut) if cut else (start + len(lines), 0)
        last = min(start + max(1, len(lines)), stop) - 1
        cursor = make_cursor(self.served, self.call, following, offset) if following < stop else None
        unit, title = self.document.unit, readable(self.document.chunks[0].title)
        shown, text = self._span(start, last), "\n".join(lines)
        left = self._span(following, stop - 1) if cursor else None
        data = {
            "index": self.served.name,
            "path": self.document.path,
            "title": title,
            unit: shown,
            "total": self.document.total,
            "text": text,
            "left": left,
            "cursor": cursor,
        }
        heading = printable(f"{self.document.path}  {unit} {shown} of {self.document.total}  {title}".rstrip())
        end = f'To read the rest, use {unit}="{left}", or the same call with cursor="{cursor}".' if cursor else ""
        quoted = self.fence.around(1, heading, text)
        whole = "\n\n".join(part for part in (self.fence.rule, quoted, end) if part)
        return Answer(whole, {name: value for name, value in data.items() if value is not None})

    def _span(self, first: int, last: int) -> str:
        return span(self.document.lines[first].number, self.document.lines[last].number)
