"""The rows of sheets, whose cells are divided by bars in their text."""

import re

from cdesearch.search.readable import suffix_of

BAR, NO_NAME = " | ", "\N{EN DASH}"  # between two cells; in the names of columns, for a column without one
FURTHEST = 50  # the first column of a row may be so far to the right
_SUFFIXES = frozenset({".xlsx", ".xlsm", ".xltx", ".xltm", ".xls", ".ods"})
_CELLS = re.compile(r"([A-Z]{1,3})\d+(?::([A-Z]{1,3})\d+)?")


def is_sheet(path: str) -> bool:
    """Whether the text of a file is that of sheets."""
    return suffix_of(path) in _SUFFIXES


def cells_of(line: str, place: str | None) -> list[str] | None:
    """The cells of a row from the first column of its sheet on, where `place` names those that it has, such as B7:D7.

    None if the text does not tell them, because one has a bar in it, or many before one are empty.
    """
    found, cells = _CELLS.fullmatch(place or ""), line.split(BAR)
    if found is None:
        return None
    first, last = _number(found[1]), _number(found[2] or found[1])
    return [""] * (first - 1) + cells if len(cells) == last - first + 1 and first <= FURTHEST else None


def _number(column: str) -> int:
    """The number of a column, from 1: of A to Z, then AA, AB and so on."""
    number = 0
    for letter in column:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
