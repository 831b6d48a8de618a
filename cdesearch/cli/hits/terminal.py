"""Print hits on a terminal: with colours and links, in few rows for each hit, and through a pager if there are many."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.padding import Padding
from rich.text import Text

from cdesearch.cli.hits.grouping import HitGroup
from cdesearch.cli.hits.render import CUT, INDENT, TAB, Shown, further, heading, link, trail
from cdesearch.cli.pager import page
from cdesearch.search.passage_lines import Line, best_position, count_words, query_words
from cdesearch.terminal import open_console, printable
from cdesearch.words.word_forms import word_spans

# Colours that can be read on light and on dark terminals
PLACE_STYLE, MATCH_STYLE, OTHER_STYLE = "magenta", "bold red", "dim"
PASSAGE_ROWS = 4  # rows of the terminal for the passage of a hit
BREAK = 8  # cells at the end of a row that are empty because rows are broken between words
MIN_CELLS = 20  # the least width of a passage


def show_styled(shown: Shown, groups: Sequence[HitGroup], *, has_pager: bool) -> None:
    """Print hits as they are printed without a terminal, but fitted to its width."""
    console = open_console(soft_wrap=True)
    with console.capture() as captured:
        for rank, group in enumerate(groups, start=1):
            if rank > 1:
                console.print()
            number, location, score = heading(shown, rank, group.best)
            place = (location, f"{PLACE_STYLE} link {link(shown, group.best)}")
            console.print(Text.assemble((number, "bold"), place, (score, OTHER_STYLE)))
            width = max(MIN_CELLS, console.width - INDENT)
            above, more = (
                [Text(fitted(line, width), OTHER_STYLE) for line in lines]
                for lines in (trail(shown, group.best), further(shown, group))
            )
            for text in (*above, *_passage(shown, shown.lines(group.best), width), *more):
                console.print(Padding(text, (0, 0, 0, INDENT)), soft_wrap=False)
    page(captured.get(), console, has_pager=has_pager)


def _passage(shown: Shown, lines: Sequence[Line], width: int) -> Iterator[Text]:
    """Yield the lines of the passage, with the words of the query marked."""
    words = query_words(shown.query)
    rows = None if shown.full else _rows_of(lines, words, width)
    for number, line in enumerate(lines):
        text = printable(line.text.expandtabs(TAB))
        if rows is not None and not rows[number]:
            continue
        if rows is not None:
            text = excerpt(text, words, rows[number] * width - (rows[number] - 1) * BREAK)
        styled = Text(text, OTHER_STYLE if line.is_context else "")
        for start, end in word_spans(text, words):
            styled.stylize(MATCH_STYLE, start, end)
        yield styled


def _rows_of(lines: Sequence[Line], words: Sequence[str], width: int) -> list[int]:
    """How many rows each line gets. Lines of context get one, and the lines of the passage PASSAGE_ROWS in all.

    Rows are given first to the lines with more words of the query. A line without rows is left out.
    """
    rows = [int(line.is_context) for line in lines]
    passage = [number for number, line in enumerate(lines) if not line.is_context]
    left = PASSAGE_ROWS
    found = {number: count_words(lines[number].text, words) for number in passage}
    for number in sorted(passage, key=lambda number: -found[number]):
        cells = cell_len(lines[number].text.expandtabs(TAB))
        # A line that is a little too long is cut, so that no row has only a few words.
        rows[number] = min(left, 1 if cells <= 1.5 * width else -(-cells // (width - BREAK)))
        left -= rows[number]
    return rows


def excerpt(text: str, words: Sequence[str], cells: int) -> str:
    """At most `cells` cells of a line, from before the first word of the query on, with CUT where it is cut."""
    if cell_len(text) <= cells:
        return text
    first = best_position(text, words, cells)
    if cell_len(text[:first]) < cells * 2 // 3:
        return fitted(text, cells)
    start = max(0, first - cells // 3)
    space = text.find(" ", start, first)
    return fitted(f"{CUT} {text[start if space < 0 else space + 1 :]}", cells)


def fitted(text: str, cells: int) -> str:
    """The start of a text that has at most `cells` cells, with CUT at its end if it was cut."""
    if cell_len(text) <= cells:
        return text
    end = min(len(text), cells - 2)
    while cell_len(text[:end]) > cells - 2:
        end -= 1
    space = text.rfind(" ", end - 20 if end > 40 else end, end)
    return f"{text[: end if space < 0 else space].rstrip()} {CUT}"
