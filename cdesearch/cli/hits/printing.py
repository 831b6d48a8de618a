"""Print hits: with styles on a terminal, as plain lines elsewhere, or in the form of grep."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from cdesearch.cli.hits.grouping import HitGroup
from cdesearch.cli.hits.passage_lines import Line, best_line, query_words
from cdesearch.cli.hits.render import INDENT, Shown, further, heading, record_names, shortened, trail
from cdesearch.store.schema import Chunk, Hit
from cdesearch.terminal import is_styled, printable


def show_hits(shown: Shown, groups: Sequence[HitGroup], *, has_pager: bool = False) -> None:
    """Print hits, with colours and links only on a terminal. Lines are indented below the heading of a hit."""
    if not groups:
        sys.stderr.write(f"{_nothing_found(shown.query)}\n")
    elif is_styled(sys.stdout):
        from cdesearch.cli.hits.terminal import show_styled  # imports rich, which takes longer than a search

        show_styled(shown, groups, has_pager=has_pager)
    else:
        for rank, group in enumerate(groups, start=1):
            sys.stdout.write("".join(f"{line}\n" for line in _plain_lines(shown, rank, group)))


def _nothing_found(query: str) -> str:
    from cdesearch.search.exact import is_quoted

    if is_quoted(query):
        return "No hits: no passage contains the words in quotation marks. Without these marks, similar ones are found."
    return "No hits."


def _plain_lines(shown: Shown, rank: int, group: HitGroup) -> Iterator[str]:
    """Yield the lines of one hit as `show_styled` would print them without styles."""
    yield "".join(heading(shown, rank, group.best))
    below = (
        *trail(shown, group.best),
        *(printable(shortened(line, full=shown.full)) for line in shown.lines(group.best)),
        *further(shown, group),
    )
    yield from (f"{' ' * INDENT}{line}" for line in below)
    yield ""


def show_grep_lines(shown: Shown, hits: Sequence[Hit]) -> None:
    """Print one line for each hit, `path:line:text`, which editors understand.

    The line is 1 if the format has no lines. A record, a sheet, a page or an anchor is in brackets before the text.
    Lines of context have `-` instead of `:`, as those of grep do.
    """
    for number, hit in enumerate(hits):
        if number and shown.context:
            sys.stdout.write("--\n")
        lines = shown.lines(hit)
        best = best_line(lines, query_words(shown.query))
        at = lines.index(best) if best in lines else 0
        kept = lines[max(0, at - shown.context) : at + shown.context + 1] or [best]
        for line in kept:
            mark = ":" if line is best else "-"
            place = _grep_place(hit.chunk, line, shown.root_of(hit), mark)
            sys.stdout.write(f"{place}{printable(shortened(line, full=shown.full).rstrip())}\n")


def _grep_place(chunk: Chunk, line: Line, root: Path, mark: str) -> str:
    """Return what precedes the text of a line in the form of grep."""
    row = max(0, line.row)
    number = chunk.line_at(row) if line.number is None else line.number
    parts = record_names(chunk, chunk.cells_at(row))
    if chunk.page is not None:
        parts.append(f"page {chunk.page}")
    elif number is None and (anchor := chunk.anchor_at(row)) is not None:
        parts.append(f"#{anchor}")
    within = f"[{', '.join(parts)}] " if parts else ""
    return printable(f"{os.path.relpath(root / chunk.path)}{mark}{number or 1}{mark}{within}")
