"""The tool `read` returns a range of the stored text of one document, within a budget of tokens."""

from dataclasses import dataclass, field
from typing import Any

from cdesearch.cli.passage_text import readable, span
from cdesearch.errors import InputError
from cdesearch.search.fence import Fence
from cdesearch.serve.indexes import ServedIndex, ServedIndexes
from cdesearch.serve.mcp.budget import Answer, Budget, too_small
from cdesearch.serve.mcp.cursor import make_cursor, start_of
from cdesearch.serve.mcp.document_lines import DocumentLines, Unit, parse_range
from cdesearch.serve.mcp.named_document import NamedDocument, find_document, index_and_path
from cdesearch.terminal import printable

UNITS: tuple[Unit, ...] = ("lines", "page", "part")
_PLURALS = {"lines": "lines", "page": "pages", "part": "parts"}


def read(indexes: ServedIndexes, values: dict[str, Any]) -> Answer:
    """Return the requested range of a document, or as much of it as fits into the budget; raises CdesearchError."""
    served, path = index_and_path(indexes, values["index"], values["path"])
    named = find_document(indexes, served, path)
    asked = {unit: values[unit] for unit in UNITS if values[unit] is not None} or dict(named.ranges)
    document = DocumentLines.of(named.chunks)
    positions = _positions(named.path, document, asked)
    call = "read", named.path, *sorted(asked.items())
    start, offset = start_of(served, call, values["cursor"])
    if start or offset:
        positions = range(max(start, positions.start), positions.stop)
    extract = _Extract(served, named, document, call, positions, offset)
    return extract.answer(Budget(values["max_tokens"], served.tokenizer))


def _positions(path: str, document: DocumentLines, asked: dict[Unit, str]) -> range:
    """Return the positions of the requested lines in the document, or of all lines if no range is requested."""
    if len(asked) > 1:
        raise InputError(f"Both {' and '.join(asked)} are given.", "Use only one of them.")
    if not asked:
        return range(len(document.lines))
    ((unit, value),) = asked.items()
    plural = _PLURALS[document.unit]
    if unit != document.unit:
        raise InputError(
            f"{path:.200} has {plural}, not {_PLURALS[unit]}.", f'Use for example {document.unit}="1-{document.total}".'
        )
    positions = document.within(*parse_range(unit, value))
    if not positions:
        raise InputError(
            f"{path:.200} has only {document.total:,} {plural}.", f"Use a smaller number in the parameter {unit}."
        )
    return positions


@dataclass(frozen=True, slots=True)
class _Extract:
    """Consecutive lines of a document, and how an answer shows as many of them as fit into its budget."""

    served: ServedIndex
    named: NamedDocument
    document: DocumentLines
    call: tuple[object, ...]
    positions: range  # positions in `document.lines`
    offset: int  # the number of characters of the first line that an earlier answer has shown
    fence: Fence = field(default_factory=Fence)

    def answer(self, budget: Budget) -> Answer:
        """Return an answer with as many whole lines as fit, or with a part of the first line; raises InputError."""
        lines = [readable(self.document.lines[at].text) for at in self.positions]
        if lines:
            lines[0] = lines[0][self.offset :]
        n_possible, size = 0, 0
        while n_possible < len(lines) and size <= budget.characters:
            size += len(lines[n_possible]) + 1
            n_possible += 1
        n_lines, answer = budget.largest(lambda n: self._with(lines[:n]), n_possible)
        if n_lines or not lines:
            return answer
        n_characters, answer = budget.largest(
            lambda n: self._with([lines[0][:n]], n), min(len(lines[0]), budget.characters)
        )
        if not n_characters:
            raise too_small(budget.max_tokens)
        return answer

    def _with(self, lines: list[str], cut: int = 0) -> Answer:
        """Return the answer with these whole lines, or with the first `cut` characters of the first line."""
        start, stop = self.positions.start, self.positions.stop
        following, offset = (start, self.offset + cut) if cut else (start + len(lines), 0)
        last = min(start + max(1, len(lines)), stop) - 1
        cursor = make_cursor(self.served, self.call, following, offset) if following < stop else None
        unit, title = self.document.unit, readable(self.named.chunks[0].title)
        shown, text = span(self._number(start), self._number(last)), "\n".join(lines)
        left = span(self._number(following), self._number(stop - 1)) if cursor else None
        data = {
            "index": self.served.name,
            "path": self.named.path,
            "title": title,
            unit: shown,
            "total": self.document.total,
            "text": text,
            "left": left,
            "cursor": cursor,
        }
        heading = printable(f"{self.named.path}  {unit} {shown} of {self.document.total}  {title}".rstrip())
        end = f'To read the rest, use {unit}="{left}", or the same call with cursor="{cursor}".' if cursor else ""
        quoted = self.fence.around(1, heading, text)
        whole = "\n\n".join(part for part in (self.fence.rule, quoted, end) if part)
        return Answer(whole, {name: value for name, value in data.items() if value is not None})

    def _number(self, position: int) -> int:
        return self.document.lines[position].number
