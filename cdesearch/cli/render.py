"""Print hits as text for a terminal or as JSON."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cdesearch.search.result import SearchResult
from cdesearch.store.schema import Hit
from cdesearch.terminal import open_console, printable

PASSAGE_LINES = 4
INDENT = 3
TAB = 4  # blanks that replace a tab: a raw tab would break the indentation
STEM = 4  # letters that two forms of a word must share to be highlighted alike


def show_hits(query: str, hits: Sequence[Hit], root: Path, *, full: bool) -> None:
    """Print hits; colours and links only on a terminal."""
    console = open_console(soft_wrap=True)
    if not hits:
        open_console(stderr=True).print("No hits.")
        return
    words = _words(query)
    for hit in hits:
        console.print(_heading(hit, root, linked=console.is_terminal))
        trail = " > ".join(part for part in (hit.chunk.title, *hit.chunk.trail) if part)
        if trail:
            _indented(console, Text(printable(trail), style="dim"))
        for line in _passage(hit.chunk.body, words, full=full):
            _indented(console, _marked(printable(line.expandtabs(TAB)), words))
        console.print()


def result_as_json(query: str, mode: str, result: SearchResult) -> dict[str, Any]:
    """One JSON object with the query, the time that it took, and its hits."""
    return {
        "query": query,
        "mode": mode,
        "milliseconds": round(1000 * result.seconds, 2),
        "hits": [
            {
                "rank": hit.rank,
                "score": hit.score,
                "dense_score": hit.dense_score,
                "text_score": hit.text_score,
                "path": hit.chunk.path,
                "document": hit.chunk.document_id,
                "record": hit.chunk.record,
                "line_start": hit.chunk.line_start,
                "line_end": hit.chunk.line_end,
                "page": hit.chunk.page,
                "title": hit.chunk.title,
                "trail": list(hit.chunk.trail),
                "text": hit.chunk.body,
            }
            for hit in result.hits
        ],
    }


class _Place(Protocol):
    """What a hit and a passage have in common."""

    @property
    def path(self) -> str: ...
    @property
    def document_id(self) -> str: ...
    @property
    def record(self) -> str | None: ...


def shown_place(place: _Place, location: str, root: Path) -> str:
    """A location such as `path:line` relative to the working directory, with the name of the record if there is one."""
    shown = printable(os.path.relpath(root / place.path) + location.removeprefix(place.path))
    if place.record is not None:
        document = place.document_id.removeprefix(f"{place.path}#")
        names = [place.record] if place.record.startswith(document) else [document, place.record]
        shown += "".join(f" #{printable(name)}" for name in names)
    return shown


def _heading(hit: Hit, root: Path, *, linked: bool) -> Text:
    location = shown_place(hit.chunk, hit.chunk.location, root)
    link = f"link {(root / hit.chunk.path).as_uri()}" if linked else ""
    return Text.assemble((f"{hit.rank:>2} ", "bold"), (location, f"cyan {link}"), (f"  {hit.score:.3f}", "dim"))


def _indented(console: Console, text: Text) -> None:
    """Print `text` indented below its heading; wrapped on a terminal, in one line elsewhere."""
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, INDENT)), soft_wrap=False)
    else:
        console.print(Text(" " * INDENT) + text)


def _passage(body: str, words: Sequence[str], *, full: bool) -> list[str]:
    """The consecutive lines of a chunk that contain most of the query's words, or all lines with `full`."""
    lines = [line for line in body.splitlines() if line.strip()]
    if full or len(lines) <= PASSAGE_LINES:
        return lines if full else [line[:400] for line in lines]
    starts = range(len(lines) - PASSAGE_LINES + 1)
    found = [sum(word in line.lower() for word in words) for line in lines]
    best = max(starts, key=lambda start: (sum(found[start : start + PASSAGE_LINES]), -start))
    return [line[:400] for line in lines[best : best + PASSAGE_LINES]]


def _words(query: str) -> list[str]:
    """The query's words, cut to the letters that their other forms share."""
    words = [word for word in re.findall(r"\w+", query.lower()) if len(word) > 2 or not word.isascii()]
    return [word[: max(STEM, len(word) - 3)] for word in words]


def _marked(line: str, words: Sequence[str]) -> Text:
    text = Text(line)
    for word in words:
        text.highlight_regex(rf"(?i)\b{re.escape(word)}\w*", "bold yellow")
    return text
