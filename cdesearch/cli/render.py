"""Print hits as text for a terminal, and convert them to JSON."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from cdesearch.search.result import SearchResult
from cdesearch.search.word_forms import word_stem
from cdesearch.store.schema import Hit
from cdesearch.terminal import is_styled, open_console, printable

if TYPE_CHECKING:
    from rich.text import Text

PASSAGE_LINES = 4  # the number of lines that are shown of a chunk
MAX_LINE = 400  # characters of a line that are shown
INDENT = 3  # spaces
TAB = 4  # the number of spaces that replace a tab, which would break the indentation

_Line = tuple[int, str]  # how many lines below the start of its chunk it is, and its text


def show_hits(query: str, hits: Sequence[Hit], root: Path, *, full: bool) -> None:
    """Print hits, with colours and links only on a terminal. Lines are indented below the heading of a hit."""
    if not hits:
        sys.stderr.write("No hits.\n")
        return
    words = _words(query)
    show = _show_styled if is_styled(sys.stdout) else _show_plain
    for hit in hits:
        lines = _passage(hit.chunk.body, words, full=full)
        show(hit, root, [(n, printable(line.expandtabs(TAB))) for n, line in lines], words)


def _show_plain(hit: Hit, root: Path, passage: Sequence[_Line], _words: Sequence[str]) -> None:
    """Print one hit as `_show_styled` would without styles, because importing rich takes longer than a search."""
    rank, location, score = _heading(hit, root, passage)
    texts = (*_trail(hit), *(line for _, line in passage))
    lines = [f"{rank}{location}{score}", *(f"{' ' * INDENT}{text}" for text in texts), ""]
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _show_styled(hit: Hit, root: Path, passage: Sequence[_Line], words: Sequence[str]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console = open_console(soft_wrap=True)
    rank, location, score = _heading(hit, root, passage)
    link = _link(hit, root)
    console.print(Text.assemble((rank, "bold"), (location, f"cyan link {link}"), (score, "dim")))
    marked = (_marked(line, words) for _, line in passage)
    for text in (*(Text(trail, style="dim") for trail in _trail(hit)), *marked):
        console.print(Padding(text, (0, 0, 0, INDENT)), soft_wrap=False)
    console.print()


def result_as_json(query: str, mode: str, result: SearchResult) -> dict[str, Any]:
    """Return a JSON object with the query, the time that it took, and its hits.

    `line` is the line of the passage that is shown of a hit, which is between the first and the last line of the chunk.
    """
    words = _words(query)
    return {
        "query": query,
        "mode": mode,
        "milliseconds": round(1000 * result.seconds, 2),
        "stage": result.stage,
        "hits": [
            {
                "rank": hit.rank,
                "score": hit.score,
                "dense_score": hit.dense_score,
                "text_score": hit.text_score,
                "path": hit.chunk.path,
                "document": hit.chunk.document_id,
                "record": hit.chunk.record,
                "line": hit.chunk.line_at(_first(_passage(hit.chunk.body, words, full=False))),
                "line_start": hit.chunk.line_start,
                "line_end": hit.chunk.line_end,
                "page": hit.chunk.page,
                "anchor": hit.chunk.anchor,
                "title": hit.chunk.title,
                "trail": list(hit.chunk.trail),
                "text": hit.chunk.body,
            }
            for hit in result.hits
        ],
    }


class _Place(Protocol):
    """The properties of a location that chunks and passages have in common."""

    @property
    def path(self) -> str: ...
    @property
    def document_id(self) -> str: ...
    @property
    def record(self) -> str | None: ...


def shown_place(place: _Place, location: str, root: Path) -> str:
    """Return a location such as `path:line`, relative to the working directory, with the name of a record."""
    shown = printable(os.path.relpath(root / place.path) + location.removeprefix(place.path))
    if place.record is not None:
        document = place.document_id.removeprefix(f"{place.path}#")
        names = [place.record] if place.record.startswith(document) else [document, place.record]
        shown += "".join(f" #{printable(name)}" for name in names)
    return shown


def _heading(hit: Hit, root: Path, passage: Sequence[_Line]) -> tuple[str, str, str]:
    """Return the rank, the location of the passage and the score of a hit, formatted for one line."""
    location = hit.chunk.location_at(_first(passage))
    return f"{hit.rank:>2} ", shown_place(hit.chunk, location, root), f"  {hit.score:.3f}"


def _link(hit: Hit, root: Path) -> str:
    """Return the address of the file, with the page or the anchor at which a program can open it."""
    address, chunk = (root / hit.chunk.path).as_uri(), hit.chunk
    if chunk.page is not None:
        return f"{address}#page={chunk.page}"
    return address if chunk.anchor is None else f"{address}#{quote(chunk.anchor)}"


def _trail(hit: Hit) -> Iterator[str]:
    """Yield one line with the title and the headings above the chunk, or no line if there are none."""
    trail = " > ".join(part for part in (hit.chunk.title, *hit.chunk.trail) if part)
    if trail:
        yield printable(trail)


def _passage(body: str, words: Sequence[str], *, full: bool) -> list[_Line]:
    """Return the consecutive lines of a chunk that contain most of the query's words, or with `full` all lines."""
    numbered = ((n, line) for n, text in enumerate(body.split("\n")) for line in text.splitlines())
    lines = [(n, line) for n, line in numbered if line.strip()]
    if full or len(lines) <= PASSAGE_LINES:
        return lines if full else [(n, line[:MAX_LINE]) for n, line in lines]
    starts = range(len(lines) - PASSAGE_LINES + 1)
    found = [sum(word in line.lower() for word in words) for _, line in lines]
    best = max(starts, key=lambda start: (sum(found[start : start + PASSAGE_LINES]), -start))
    return [(n, line[:MAX_LINE]) for n, line in lines[best : best + PASSAGE_LINES]]


def _first(passage: Sequence[_Line]) -> int:
    """Return how many lines below the start of its chunk a passage begins."""
    return passage[0][0] if passage else 0


def _words(query: str) -> list[str]:
    """Return the stems of the query's words, so that other forms of the words are found as well."""
    words = [word for word in re.findall(r"\w+", query.lower()) if len(word) > 2 or not word.isascii()]
    return [word_stem(word) for word in words]


def _marked(line: str, words: Sequence[str]) -> "Text":
    from rich.text import Text

    text = Text(line)
    for word in words:
        text.highlight_regex(rf"(?i)\b{re.escape(word)}\w*", "bold yellow")
    return text
