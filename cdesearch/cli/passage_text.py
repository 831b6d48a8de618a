"""Format passages as compact text for language models and scripts."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cdesearch.search.documents import DocumentReader
from cdesearch.search.field_filter import DATE
from cdesearch.search.passages import Fence, Passage
from cdesearch.search.readable import headings_as_text
from cdesearch.search.text_time import stated_day
from cdesearch.store.index import Index
from cdesearch.store.schema import Hit
from cdesearch.terminal import counted, printable


@dataclass(frozen=True, slots=True)
class LocatedPassage:
    """A passage with its best hit and its position in the document, as a range such as "7" or "7-12"."""

    passage: Passage
    best: Hit
    lines: str | None
    page: str | None
    part: str | None  # a range of chunks, counted from 1, in documents without lines and pages
    age: str | None  # such as "3 days"

    @property
    def named_location(self) -> str:
        """The location, in a search of several indexes after the name of the index."""
        return self.location if self.best.index is None else f"{self.best.index}: {self.location}"

    @property
    def location(self) -> str:
        """The location in the form `path:lines`, `path#page=n` or `path#part=n`, or the document id of a record."""
        if self.page is not None:
            return f"{self.passage.path}#page={self.page}"
        if self.lines is not None:
            return f"{self.passage.path}:{self.lines}"
        return self.passage.document_id if self.part is None else f"{self.passage.path}#part={self.part}"

    @property
    def copies(self) -> list[str]:
        """The locations of the same text in other files, after the name of the index in a search of several."""
        return [f"{copy.index}: " * (copy.index is not None) + copy.chunk.location for copy in self.best.copies]

    @property
    def headings(self) -> str:
        """The title and the headings above the line that the place of the passage is of."""
        return " > ".join(headings_as_text(self.passage.path, (self.passage.title, *self.passage.trail)))


def ages_of(hits: Iterable[Hit], indexes: Mapping[str, Index]) -> dict[str, str]:
    """How old the text of each hit is, by the ids of the chunks."""
    ages: dict[str, str] = {}
    for name, index in indexes.items():
        own = [hit.chunk for hit in hits if (hit.index or "") == name]
        modified = DocumentReader(index).modified({chunk.path for chunk in own})
        for chunk in own:
            day = stated_day(chunk.path, (value for field, value in chunk.fields if field == DATE))
            if day is not None:
                ages[chunk.id] = _age(int((datetime.now() - datetime.fromisoformat(day)).total_seconds()))
            elif chunk.path in modified:  # another generation may lack the file
                ages[chunk.id] = _age(int(time.time() - modified[chunk.path] / 1e9))
    return ages


def _age(seconds: int) -> str:
    """A time in words, in the largest unit that it contains at least two of."""
    units = (("minute", 60), ("hour", 3600), ("day", 86_400), ("month", 2_629_800), ("year", 31_557_600))
    name, unit = next((one for one in reversed(units) if seconds >= 2 * one[1]), units[0])
    return counted(max(0, seconds) // unit, name)


def located(passages: Iterable[Passage], hits: Iterable[Hit], ages: Mapping[str, str]) -> list[LocatedPassage]:
    """The passages with their positions. They must have been made from chunks of `hits`, whose ages are `ages`."""
    by_id = {hit.chunk.id: hit for hit in hits}
    found = []
    for passage in passages:
        own = [by_id[name] for name in passage.chunk_ids]
        has_parts = passage.page is None and passage.line_start is None and passage.record is None
        best = min(own, key=lambda hit: hit.rank)
        lines = None if passage.line_start is None else span(passage.line_start, passage.line_end)
        page = None if passage.page is None else span(passage.page, passage.page_end)
        part = span(own[0].chunk.ordinal + 1, own[-1].chunk.ordinal + 1) if has_parts else None
        found.append(LocatedPassage(passage, best, lines, page, part, ages.get(best.chunk.id)))
    return found


def passages_as_text(passages: Sequence[LocatedPassage], fence: Fence) -> str:
    """The passages as text, each below a line with its number, its location and its headings."""
    blocks = [
        fence.around(number, printable(f"{one.named_location}  {_above(one)}".rstrip()), readable(one.passage.text))
        for number, one in enumerate(passages, start=1)
    ]
    return "\n\n".join([fence.rule, *blocks]) if blocks else ""


def _above(one: LocatedPassage) -> str:
    """What is known of a passage besides its location."""
    confidence = one.best.confidence
    known = [] if confidence is None else [f"{confidence:.0%}"]
    known += [f"{one.age} old"] if one.age else []
    known += [f"also {', '.join(one.copies)}"] if one.copies else []
    return "  ".join(part for part in (one.headings, f"({', '.join(known)})" if known else "") if part)


def span(first: int, last: int | None) -> str:
    """A range such as "7-12", or "7" if it has only one number."""
    return str(first) if last is None or last == first else f"{first}-{last}"


def readable(text: str) -> str:
    """`text` with every unsafe character, except line breaks and tabs, replaced by an escape sequence."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in lines)
