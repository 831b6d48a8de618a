"""Put the words of PDF lines with Hebrew or Arabic into the order of reading.

pdfium returns all words of a line from right to left, or all from left to right, so that words of the other direction
are in the wrong order. In each word, the letters are in the order of reading already.
"""

import re
from typing import NamedTuple, Self

_FROM_RIGHT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff"  # Hebrew, Arabic and their neighbours
RIGHT_WORD = re.compile(f"[{_FROM_RIGHT}]+")
_LEFT_WORD = re.compile(rf"[^\W\d_{_FROM_RIGHT}]+")
_RIGHT_RUN = re.compile(rf"[{_FROM_RIGHT}](?:[\W\d_{_FROM_RIGHT}]*[{_FROM_RIGHT}])?")
_LEFT_RUN = re.compile(rf"[^\W{_FROM_RIGHT}](?:[^{_FROM_RIGHT}]*[^\W{_FROM_RIGHT}])?")
_TOKEN = re.compile(rf"\d+(?:[.,:/]\d+)*%?|[{_FROM_RIGHT}]+|[^\W\d_{_FROM_RIGHT}]+|.", re.DOTALL)
_PAIR, _MIRRORED_PAIR = re.compile(r"\([^()]*\)"), re.compile(r"\)[^()]*\(")
_MIRRORED = str.maketrans("()[]{}", ")(][}{")


class Direction(NamedTuple):
    """How the lines of a page run that has words from right to left."""

    is_from_right: bool  # whether most words do so
    is_reversed: bool  # whether pdfium returns all lines from right to left
    is_mirrored: bool  # whether the file names brackets by their looks

    @classmethod
    def of(cls, text: str, *, is_reversed: bool) -> Self | None:
        """The direction of a page by its text; None for a page without words from right to left."""
        if not is_reversed and (text.isascii() or not RIGHT_WORD.search(text)):
            return None
        is_from_right = len(RIGHT_WORD.findall(text)) > len(_LEFT_WORD.findall(text))
        # What is between the brackets of a pair is shorter than what is between two pairs.
        inside, between = (min(map(len, pair.findall(text)), default=len(text)) for pair in (_PAIR, _MIRRORED_PAIR))
        return cls(is_from_right, is_reversed, is_mirrored=between < inside)

    def logical(self, line: str) -> str:
        """The line in the order of reading."""
        tokens = _TOKEN.findall(line)
        if self.is_reversed or len(RIGHT_WORD.findall(line)) > len(_LEFT_WORD.findall(line)):
            tokens.reverse()
        # Now they are as they are printed, from left to right.
        if not self.is_from_right:
            line = _RIGHT_RUN.sub(_turned, "".join(tokens))
            return line if _PAIR.search(line) else _MIRRORED_PAIR.sub(lambda pair: f"({pair[0][1:-1]})", line)
        line = "".join(reversed(tokens))
        if self.is_mirrored:
            line = line.translate(_MIRRORED)
        return _LEFT_RUN.sub(lambda run: _turned(run) if any(map(str.isalpha, run[0])) else run[0], line)


def _turned(run: re.Match[str]) -> str:
    return "".join(reversed(_TOKEN.findall(run[0])))
