"""Put the words of PDF lines with Hebrew or Arabic into the order of reading.

pdfium returns all words of a line from right to left, or all from left to right, so that words of the other direction
are in the wrong order. In each word, the letters are in the order of reading already.
"""

import re
from itertools import groupby
from typing import NamedTuple, Self
from unicodedata import bidirectional

_FROM_RIGHT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff"  # Hebrew, Arabic and their neighbours
RIGHT_WORD = re.compile(f"[{_FROM_RIGHT}]+")
RIGHT_WORD_OR_SIGNS = re.compile(rf"[{_FROM_RIGHT}]+|(?<=[{_FROM_RIGHT}])[^\w.,:/+#$%\-{_FROM_RIGHT}]{{2,}}")
_LEFT_WORD = re.compile(rf"[^\W\d_{_FROM_RIGHT}]+")
_RIGHT_RUN = re.compile(rf"[{_FROM_RIGHT}](?:[\W\d_{_FROM_RIGHT}]*[{_FROM_RIGHT}])?")
_LEFT_RUN = re.compile(rf"[^\W{_FROM_RIGHT}](?:[^{_FROM_RIGHT}]*[^\W{_FROM_RIGHT}])?")
_TOKEN = re.compile(rf"\d+(?:[.,:/]\d+)*%?|[{_FROM_RIGHT}]+|[^\W\d_{_FROM_RIGHT}]+|.", re.DOTALL)
_PAIR, _BRACKET, MOST_BRACKETED = re.compile(r"\([^()]*\)"), re.compile(r"[()]"), 50  # lines that are compared
_KINDS = {"L": "left"} | dict.fromkeys(("AN", "EN", "NSM", "CS", "ES", "ET", "BN"), "part of a number")
_MIRRORED = str.maketrans("()[]{}", ")(][}{")


class Direction(NamedTuple):
    """How the lines of a page run that has words from right to left."""

    is_from_right: bool  # whether most words do so
    is_reversed: bool  # whether pdfium returns all lines from right to left
    is_by_looks: bool  # whether the file names brackets by their looks, and not by whether they open or close

    @classmethod
    def of(cls, text: str, *, is_reversed: bool) -> Self | None:
        """The direction of a page by its text; None for a page without words from right to left."""
        if not is_reversed and (text.isascii() or not RIGHT_WORD.search(text)):
            return None
        is_from_right = len(RIGHT_WORD.findall(text)) > len(_LEFT_WORD.findall(text))
        bracketed = [line for line in text.splitlines() if "(" in line or ")" in line][:MOST_BRACKETED]
        return max(
            (cls(is_from_right, is_reversed, is_by_looks) for is_by_looks in (True, False)),
            key=lambda one: sum(not _BRACKET.search(_PAIR.sub("", one.logical(line))) for line in bracketed),
        )

    def logical(self, line: str, *, is_at_left: bool = False) -> str:
        """The line in the order of reading; `is_at_left` if it stands at the left margin and is short."""
        n_right, n_left = len(RIGHT_WORD.findall(line)), len(_LEFT_WORD.findall(line))
        seen = _seen(line, is_reversed=self.is_reversed or n_right > n_left)
        begins_left = is_at_left and _kind(seen.lstrip()[:1] or " ") == "left"
        if not (self.is_from_right or (n_right > n_left and not begins_left)):
            return _RIGHT_RUN.sub(lambda run: self._turned(run[0]), seen)
        pieces, end = [], 0
        for run in _LEFT_RUN.finditer(seen):
            if any(map(str.isalpha, run[0])):
                start, stop, missing = *run.span(), run[0].count("(") - run[0].count(")")
                start -= missing < 0 and seen[:start].endswith("(")
                stop += missing > 0 and seen.startswith(")", stop)
                pieces += [self._turned(seen[end:start]), seen[start:stop]]
                end = stop
        return "".join(reversed([*pieces, self._turned(seen[end:])]))

    def _turned(self, text: str) -> str:
        turned = "".join(reversed(_TOKEN.findall(text)))
        return turned.translate(_MIRRORED) if self.is_by_looks else turned


def _seen(line: str, *, is_reversed: bool) -> str:
    """The words and signs as they are printed, from left to right; `is_reversed` if pdfium returns this line so.

    After a word from right to left, pdfium turns signs and blanks, and mirrors brackets.
    """
    seen, is_right = list[str](), is_reversed
    for kind, letters in groupby(line, _kind):
        token = "".join(letters)
        if kind == "sign" and is_right:
            token = token[::-1].translate(_MIRRORED)
        elif kind in ("right", "left"):
            is_right = kind == "right"
        seen.append(token)
    return "".join(reversed(seen) if is_reversed else seen)


def _kind(letter: str) -> str:
    return "right" if RIGHT_WORD.match(letter) else _KINDS.get(bidirectional(letter), "sign")
