"""The tool `read` returns a range of the stored text of one document, within a budget of tokens."""

import re
from collections.abc import Mapping

from cdesearch.cli.passage_text import readable, span
from cdesearch.errors import InputError
from cdesearch.search.passages import Fence
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.mcp.answers import Answer, Budget, Part
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
    budget = Budget(part.max_tokens, served.searcher.tokenizer)
    return _answer(served.name, document, positions, part.offset, budget)


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


def _answer(index: str, document: NamedDocument, requested: range, offset: int, budget: Budget) -> Answer:
    """An answer with as many of the `requested` lines after the first `offset` as fit; InputError if not one fits."""
    positions = requested[offset:]
    fence, unit, title = Fence(), document.unit, readable(document.chunks[0].title)

    def span_of(first: int, last: int) -> str:
        return span(document.lines[first].number, document.lines[last].number)

    def answer(n_lines: int) -> Answer:
        start, following = positions.start, positions.start + n_lines
        shown = span_of(start, max(start, following - 1)) if positions else "none"
        text = readable("".join(line.text for line in document.lines[start:following]).removesuffix("\n"))
        heading = printable(f"{document.path}  {unit} {shown} of {document.total}  {title}".rstrip())
        place = {"index": index, "path": document.path, "title": title}
        data = {**place, unit: shown, "total": document.total, "text": text}
        whole = f"{fence.rule}\n\n{fence.around(1, heading, text)}"
        if following == positions.stop:
            return Answer(whole, data)
        left, rest = span_of(following, positions.stop - 1), following - requested.start
        more = f'To read the rest, use {unit}="{left}", or the same call with offset={rest}.'
        return Answer(f"{whole}\n\n{more}", data | {"left": left, "next_offset": rest})

    return budget.largest(answer, min(len(positions), budget.characters))
