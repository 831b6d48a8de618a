"""Format hits as text and as JSON, and print them: as plain lines, in the form of grep, or styled for a terminal."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from cdesearch.cli.hits.grouping import HitGroup
from cdesearch.search.documents import NOTHING, Surroundings
from cdesearch.search.passage_lines import (
    Line,
    best_line,
    best_position,
    best_row,
    matching_lines,
    query_words,
    shown_lines,
    source_lines,
    trail_of,
)
from cdesearch.search.readable import headings_as_text
from cdesearch.search.result import SearchResult
from cdesearch.store.copies import original_place
from cdesearch.store.line_places import value_at
from cdesearch.store.schema import Chunk, Hit
from cdesearch.terminal import printable

if TYPE_CHECKING:
    from cdesearch.search.passages import Passage

MOST_PLACES = 5  # that the line about further hits of a document names, those of the best hits
MAX_LINE = 400  # characters of a line that are shown
CUT = "…"  # where a line is cut
INDENT = 3  # spaces
TAB = 4  # the number of spaces that replace a tab, which would break the indentation


@dataclass(frozen=True, slots=True)
class HitPlace:
    """The place of a hit."""

    root: str  # the indexed folder, an absolute path
    path: str  # relative to it
    line: int | None = None
    anchor: str | None = None  # the id of the element at which a browser can open it


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of the hits of a query."""

    query: str
    root_of: Callable[[Hit], Path]  # the folder to which the path of a hit is relative
    full: bool = False  # whether whole chunks are shown instead of passages
    context: int = 0  # lines around the passage
    around: Callable[[Hit], Surroundings] = lambda _: NOTHING  # the text around a hit, for `context`

    def lines(self, hit: Hit) -> list[Line]:
        """The lines of the passage of a hit, with its context."""
        around = self.around(hit) if self.context else NOTHING
        return shown_lines(hit, query_words(self.query), full=self.full, context=self.context, around=around)

    def passage(self, hit: Hit) -> list[Line]:
        """The lines of the passage of a hit alone."""
        return shown_lines(hit, query_words(self.query), full=False)

    def place(self, hit: Hit) -> HitPlace:
        """Where the file of a hit is opened: at the line of its passage with most words of the query."""
        line = best_line(self.passage(hit), query_words(self.query))
        return HitPlace(str(self.root_of(hit)), hit.chunk.path, line.number, hit.chunk.anchor_at(line.row))

    def row(self, hit: Hit) -> int:
        """The line of the chunk whose place is shown: that of its passage with most words of the query."""
        return best_row(hit, query_words(self.query))


def shortened(text: str, shown: Shown) -> str:
    """A line without tabs. Of a long one, the MAX_LINE characters with most words, unless all is shown."""
    if not shown.full and len(text) > MAX_LINE:
        first = best_position(text, query_words(shown.query), MAX_LINE)
        near = first - MAX_LINE // 4
        start = 0 if first < MAX_LINE // 2 else text.rfind(" ", near - MAX_LINE // 4, near) + 1 or near
        text = f"{CUT} " * (start > 0) + text[start : start + MAX_LINE] + CUT * (start + MAX_LINE < len(text))
    return text.expandtabs(TAB)


def result_as_json(query: str, mode: str, result: SearchResult, root_of: Callable[[Hit], Path]) -> dict[str, Any]:
    """A JSON object with the query, the time that it took, and its hits.

    The line, the anchor and the headings of a hit are those of the line with most words in the passage that is shown.
    `root_of` returns the folder to which the path of a hit is relative.
    """
    words = query_words(result.searched or query)
    return {
        "query": query,
        "searched": result.searched,
        "total": result.total,
        "mode": mode,
        "milliseconds": round(1000 * result.seconds, 2),
        "stage": result.stage,
        "answered": result.seems_answered,
        "unknown_name": result.unknown_name,
        "hits": [
            hit_as_json(hit, best_line(shown_lines(hit, words, full=False), words), root_of) for hit in result.hits
        ],
    }


def hit_as_json(hit: Hit, best: Line, root_of: Callable[[Hit], Path]) -> dict[str, Any]:
    """A JSON object with the scores, the place and the text of a hit, and the URL of a file in a bucket.

    `best` is the line with most words of the query in the passage that is shown. `copies` has the places of the same
    text in other files. In a search of several indexes, the hit and each of these have the name of their index.
    """
    copies = [
        _index_as_json(copy)
        | {"path": copy.chunk.path, "location": copy.chunk.location}
        | _url_as_json(copy, root_of(copy))
        for copy in hit.copies
    ]
    fields = {
        "rank": hit.rank,
        "score": hit.score,
        "dense_score": hit.dense_score,
        "text_score": hit.text_score,
        "confidence": hit.confidence,
        "path": hit.chunk.path,
        "document": hit.chunk.document_id,
        "record": hit.chunk.record,
        "line": best.number,
        "line_start": hit.chunk.line_start,
        "line_end": hit.chunk.line_end,
        "page": hit.chunk.page,
        "anchor": hit.chunk.anchor_at(best.row),
        "title": hit.chunk.title,
        "trail": headings_as_text(hit.chunk.path, trail_of(best, hit.chunk)),
        "text": hit.chunk.body,
        "fields": fields_as_json(hit.chunk),
        "copies": copies,
    }
    return _index_as_json(hit) | fields | _url_as_json(hit, root_of(hit))


def fields_as_json(chunk: Chunk) -> dict[str, list[str]]:
    """The values of each field of a chunk."""
    return {name: [value for one, value in chunk.fields if one == name] for name, _ in chunk.fields}


def _index_as_json(hit: Hit) -> dict[str, Any]:
    return {} if hit.index is None else {"index": hit.index}


def _url_as_json(hit: Hit, root: Path) -> dict[str, Any]:
    url = original_place(root / hit.chunk.path)
    return {} if url is None else {"url": url}


def shown_place(place: "Chunk | Passage", location: str, root: Path, cells: str | None = None) -> str:
    """A location such as `path:line`, relative to the working directory, with the name of a record.

    A file in a bucket has its URL. The cells of a row follow the name of their sheet.
    """
    file = root / place.path
    shown = printable((original_place(file) or os.path.relpath(file)) + location.removeprefix(place.path))
    return shown + "".join(f" #{printable(name)}" for name in record_names(place, cells))


def record_names(place: "Chunk | Passage", cells: str | None = None) -> list[str]:
    """The names of the document and of the record in a file of records, or one name if it contains the other.

    The name of a sheet is followed by `cells`, such as Budget!A7:D7.
    """
    if place.record is None:
        return []
    if cells is not None:
        return [f"{place.record}!{cells}"]
    document = place.document_id.removeprefix(f"{place.path}#")
    return [place.record] if place.record.startswith(document) else [document, place.record]


def heading(shown: Shown, rank: int, hit: Hit) -> tuple[str, str, str]:
    """The rank, the location of the passage, and the score and confidence of a hit, formatted for one line."""
    confidence = "" if hit.confidence is None else f"  {as_percentage(hit.confidence)}"
    return f"{rank:>2} ", _place(shown, hit), f"  {hit.score:.3f}{confidence}" if is_ranked(hit) else ""


def is_ranked(hit: Hit) -> bool:
    """Whether a hit has a score. Others are in the order of their paths."""
    return (hit.dense_score, hit.text_score) != (None, None)


def as_percentage(confidence: float) -> str:
    """A confidence as a percentage. No estimate is certain, so it is neither 0% nor 100%."""
    return f"{min(99, max(1, round(100 * confidence)))}%"


def _place(shown: Shown, hit: Hit) -> str:
    row = shown.row(hit)
    return shown_place(hit.chunk, hit.chunk.location_at(row), shown.root_of(hit), hit.chunk.cells_at(row))


def link(shown: Shown, hit: Hit) -> str:
    """The address of the file, with the page or the anchor at which a program can open it."""
    address, chunk = (shown.root_of(hit) / hit.chunk.path).as_uri(), hit.chunk
    if chunk.page is not None:
        return f"{address}#page={chunk.page}"
    anchor = None if chunk.line_start is not None else chunk.anchor_at(shown.row(hit))
    return address if anchor is None else f"{address}#{quote(anchor)}"


def trail(shown: Shown, hit: Hit) -> Iterator[str]:
    """Yield one line with the title and the headings above the passage, or no line if there are none."""
    chunk = hit.chunk
    above = " > ".join(headings_as_text(chunk.path, (chunk.title, *chunk.trail_at(shown.row(hit)))))
    if above:
        yield printable(above)


def further(shown: Shown, group: HitGroup) -> Iterator[str]:
    """Yield one line about the further hits of the document, and one about other files with the same text."""
    if group.more:
        named = group.more[:MOST_PLACES]
        pages = {hit.chunk.page for hit in named if hit.chunk.page is not None}
        lines = {line for hit in named if (line := hit.chunk.line_at(shown.row(hit))) is not None}
        numbers = sorted(pages or lines)
        name = f"{'page' if pages else 'line'}{'s' * (len(numbers) > 1)}"
        places = ", ".join(map(str, numbers)) + ", …" * (len(group.more) > len(named))
        yield f"+{len(group.more)} more" + (f": {name} {places}" if numbers else "")
    if copies := group.best.copies:
        places = ", ".join(_place(shown, hit) for hit in copies[:MOST_PLACES]) + ", …" * (len(copies) > MOST_PLACES)
        yield f"same text in {len(copies)} other file{'s' * (len(copies) > 1)}: {places}"


def show_plain(shown: Shown, groups: Sequence[HitGroup]) -> None:
    """Print the lines that `show_styled` prints, without styles. They are indented below the heading of a hit."""
    for rank, group in enumerate(groups, start=1):
        below = (
            *trail(shown, group.best),
            *(printable(shortened(line.text, shown)) for line in shown.lines(group.best)),
            *further(shown, group),
        )
        lines = ["".join(heading(shown, rank, group.best)), *(f"{' ' * INDENT}{line}" for line in below), ""]
        sys.stdout.write("".join(f"{line}\n" for line in lines))


_WILDCARD = re.compile(r"\w[*?]\w|\w\*|\*\w")


def nothing_found(query: str) -> str:
    """The line that is shown instead of hits."""
    if _is_quoted(query):
        return "No hits: no searched passage has the quoted words. Leave out the quotation marks to find similar ones."
    if _WILDCARD.search(query):
        return "No hits: * and ? are no wildcards. Search for the start of a word with --regex, such as 'ferr\\w+'."
    return "No hits."


def _is_quoted(query: str) -> bool:
    from cdesearch.search.exact import is_quoted
    from cdesearch.search.query_syntax import parse_query

    return is_quoted(parse_query(query).words)


def show_grep_lines(shown: Shown, hits: Sequence[Hit]) -> bool:
    """Print the lines of hits that match, as `path:line:text`, which editors understand; False if none does.

    Of a hit without such lines, the title and headings are printed if they match, with the place of its passage.
    The line is 1 if the format has no lines. A record, a sheet, a page or an anchor is in brackets before the text.
    Lines of context have `-` instead of `:`, as those of grep do.
    """
    has_printed = False
    for hit in hits:
        around = shown.around(hit) if shown.context else NOTHING
        found = source_lines(hit, [], full=True, context=shown.context, around=around)
        lines = [replace(line, text=line.source) for line in found]
        matching = matching_lines(lines, hit, shown.query)
        if not (matching or hit.matches or is_ranked(hit)):
            matching = frozenset([0])  # of a list of files
        if not matching or _is_quoted(shown.query):
            place, row = shown.place(hit), shown.row(hit)
            above = [Line(text, place.line, row=row) for text in trail(shown, hit)]
            if above and matching_lines([*above, *lines], hit, shown.query) == {0}:
                lines, matching = above, frozenset([0])
        last = -2
        for at in range(len(lines)):
            near = range(at - shown.context, at + shown.context + 1)
            if matching.isdisjoint(near):
                continue
            if shown.context and has_printed and last != at - 1:
                sys.stdout.write("--\n")
            mark = ":" if at in matching else "-"
            start = _grep_place(hit.chunk, lines[at], shown.root_of(hit), mark)
            sys.stdout.write(f"{start}{printable(shortened(lines[at].text, shown).rstrip())}\n")
            has_printed, last = True, at
    return has_printed


def _grep_place(chunk: Chunk, line: Line, root: Path, mark: str) -> str:
    row = max(0, line.row)
    number = chunk.line_at(row) if line.number is None else line.number
    if number is None:  # a record has one number for all of its lines
        number = value_at(chunk.places.numbers, row, None)
    parts = record_names(chunk, chunk.cells_at(row))
    if chunk.page is not None:
        parts.append(f"page {chunk.page}")
    elif number is None and (anchor := chunk.anchor_at(row)) is not None:
        parts.append(f"#{anchor}")
    within = f"[{', '.join(parts)}] " if parts else ""
    return printable(f"{os.path.relpath(root / chunk.path)}{mark}{number or 1}{mark}{within}")
