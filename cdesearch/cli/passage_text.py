"""Passages as compact text for language models and scripts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cdesearch.search.passages import Passage
from cdesearch.store.schema import Hit
from cdesearch.terminal import printable


@dataclass(frozen=True, slots=True)
class LocatedPassage:
    """A passage, its best hit, and where it is in its document: in ranges such as "7" or "7-12"."""

    passage: Passage
    best: Hit
    lines: str | None
    page: str | None
    part: str | None  # of documents without lines and pages: the chunks, counted from 1

    @property
    def location(self) -> str:
        """`path:lines`, `path#page=n`, `path#part=n`, or the id of a record's document."""
        if self.page is not None:
            return f"{self.passage.path}#page={self.page}"
        if self.lines is not None:
            return f"{self.passage.path}:{self.lines}"
        return self.passage.document_id if self.part is None else f"{self.passage.path}#part={self.part}"

    @property
    def headings(self) -> str:
        """The title and the headings above the start of the passage."""
        return " > ".join(part for part in (self.passage.title, *self.passage.trail) if part)


def located(passages: Iterable[Passage], hits: Iterable[Hit]) -> list[LocatedPassage]:
    """The passages with their places; they consist of chunks of `hits`."""
    by_id = {hit.chunk.id: hit for hit in hits}
    found = []
    for passage in passages:
        own = [by_id[name] for name in passage.chunk_ids]
        has_parts = passage.page is None and passage.line_start is None and passage.record is None
        place = LocatedPassage(
            passage,
            min(own, key=lambda hit: hit.rank),
            lines=None if passage.line_start is None else span(passage.line_start, passage.line_end),
            page=None if passage.page is None else span(passage.page, passage.page_end),
            part=span(own[0].chunk.ordinal + 1, own[-1].chunk.ordinal + 1) if has_parts else None,
        )
        found.append(place)
    return found


def passages_as_text(passages: Sequence[LocatedPassage]) -> str:
    """The passages in their order, each below a line with its number, its location and its headings."""
    blocks = (
        f"{printable(f'[{number}] {one.location}  {one.headings}'.rstrip())}\n{readable(one.passage.text)}"
        for number, one in enumerate(passages, start=1)
    )
    return "\n\n".join(blocks)


def span(first: int, last: int | None) -> str:
    """A range such as "7-12", or "7" alone."""
    return str(first) if last is None or last == first else f"{first}-{last}"


def readable(text: str) -> str:
    """`text` with its lines and tabs, and with every other unsafe character written as an escape."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in lines)
