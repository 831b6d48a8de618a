"""The preview of a hit: the text of its document around the passage, which is marked."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from cdesearch.cli.hits.passage_lines import Line, query_words, shown_lines, word_spans
from cdesearch.cli.hits.render import TAB
from cdesearch.search.documents import DocumentReader, surroundings_of
from cdesearch.store.index import Index
from cdesearch.store.schema import Hit
from cdesearch.terminal import printable

CHUNKS = 20  # of the document, on each side of the hit
LINES = 300  # on each side of the passage
MAX_LINE = 2_000  # characters of a line that are shown
MATCH_STYLE, OTHER_STYLE = "bold red", "dim"
BAR, NO_BAR = "┃ ", "  "
MIN_CELLS = 10  # the least width of a line


@dataclass(frozen=True, slots=True)
class Preview:
    """The rows of the lines around a hit."""

    text: Text
    passage_row: int  # the position of the first row of the passage in `text`


def preview_of(index: Index, hit: Hit, query: str, width: int) -> Preview:
    """Return the preview of a hit for a width in cells.

    Raises IndexStateError, and NotIndexedError if an update has removed the hit.
    """
    chunks = DocumentReader(index).document(hit.chunk.document_id)
    around = surroundings_of(chunks, hit.chunk.id, CHUNKS)
    words = query_words(query)
    lines = shown_lines(hit, words, full=False, context=LINES, around=around, blank=True)
    digits = max((len(str(line.number)) for line in lines if line.number is not None), default=0)
    console = Console(width=width)
    rows: list[Text] = []
    passage_row = None
    for line in lines:
        if not line.is_context and passage_row is None:
            passage_row = len(rows)
        rows += _rows(line, digits, words, console)
    return Preview(Text("\n").join(rows), passage_row or 0)


def _rows(line: Line, digits: int, words: list[str], console: Console) -> Iterator[Text]:
    """Yield the rows of one line. The number is before the first of them, and the bar of the passage before all."""
    body = Text(printable(line.text[:MAX_LINE].expandtabs(TAB)), OTHER_STYLE if line.is_context else "")
    for start, end in word_spans(body.plain, words):
        body.stylize(MATCH_STYLE, start, end)
    number = "" if line.number is None else str(line.number)
    bar = (NO_BAR, "") if line.is_context else (BAR, "bold magenta")
    width = max(MIN_CELLS, console.width - digits - bool(digits) - len(BAR))
    for row in body.wrap(console, width) or [Text("")]:
        yield Text.assemble((f"{number:>{digits}} " if digits else "", OTHER_STYLE), bar, row)
        number = ""
