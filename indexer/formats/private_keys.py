"""Leave private keys out of texts, also those whose lines are records of their own."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import count

from indexer.formats.format import Document, LeftOut
from indexer.formats.tidy import changed

MARKS = "PRIVATE KEY", "Private-Lines"  # the second in files of PuTTY
KEY_SHARE = 0.3  # of what is between the marks of a key without blanks; other texts only speak of keys

_DASH = r"[-\u2013\u2014\\]"  # as they are, as programs replace them, and as Markdown may write them
_NAME = r"[A-Z0-9 ]{0,40}PRIVATE KEY"
_BEGIN = rf"{_DASH}{{0,10}} ?BEGIN\s({_NAME}(?: BLOCK)?) ?(?:{_DASH}{{2,10}}|(?=…))"
_SEPARATOR = r"(?:\\[nr]|[\s\"'+>#|,*-]){0,20}"  # between the lines of a key, in a text or in code
_PRIVATE_KEY = re.compile(
    rf"{_BEGIN}(?:((?:[^EB]|E(?!ND {_NAME})|B(?!EGIN\s{_NAME})){{1,50000}}+)END \1 ?{_DASH}{{0,10}}"
    rf"|(?:{_SEPARATOR}[A-Z][\w-]{{1,40}}: [^\n]{{0,80}}\n)*"  # or it is cut off
    rf"(?:{_SEPARATOR}[A-Za-z0-9+/=]{{16,100}}(?![\w+/]))+)"
    r"|Private-Lines: \d+(?:\s+[A-Za-z0-9+/=]{40,64}(?![\w+/]))+(?:\s+[A-Za-z0-9+/]{2,64}={1,2})?"
)
_OPENED = re.compile(rf"(?:BEGIN|END)\s{_NAME}(?!.*PRIVATE KEY)", re.DOTALL)  # END, if the newest row is the first
_HEADER = re.compile(r"[A-Z][\w-]+: [^\n]*\n")
_SIGN = re.compile(r"[^\w+/=…]")
_LETTERS = re.compile(r"[\w+/=]{32,}|…")  # of a key, or what stands for them if there are many
_LINE = re.compile(r"(?<![^\s\"])(?:[A-Za-z0-9+/]{40,100}={0,2}|[A-Za-z0-9+/]{2,40}={1,2})(?![^\s\"])")


class PrivateKeys:
    """Takes private keys out of the documents of a file, one after the other."""

    def __init__(self, left_out: LeftOut) -> None:
        """Count the keys in `left_out`."""
        self._left_out = left_out
        self._is_open = False  # whether the last record has one mark of a key, so that its lines may follow
        self._is_counted = False

    def without(self, document: Document) -> Document:
        """The document with "…" for each key or line of a key."""
        texts = [document.text, document.title, *(value for _, value in document.fields)]
        if self._is_open and (lines := _LINE.search(document.text)):
            if not self._is_counted:
                self._count(document, lines.start())
            self._is_counted = True
            return _replaced(document, _LINE, lambda _: True)
        self._is_open = self._is_counted = False
        if not any(mark in text for text in texts for mark in MARKS):
            return document
        self._is_open = bool(_OPENED.search(document.text))
        return _replaced(document, _PRIVATE_KEY, lambda found: self._is_left(document, found))

    def _is_left(self, document: Document, found: re.Match[str]) -> bool:
        between = _HEADER.sub("", found[2] or "")
        size = len(_SIGN.sub("", between))
        is_key = found[2] is None or sum(map(len, _LETTERS.findall(between))) > KEY_SHARE * size
        if is_key and found.string is document.text:
            self._count(document, found.start())
        return is_key

    def _count(self, document: Document, start: int) -> None:
        line = document.text.count("\n", 0, start)
        numbers = document.line_numbers or range(1, line + 2)
        place = f"in line {numbers[line]}" if document.has_lines else "in the text"
        self._left_out.add(place, "is not read", "private key")


def _replaced(document: Document, pattern: re.Pattern[str], is_left: Callable[[re.Match[str]], bool]) -> Document:
    """The document with "…" for each match that is left out; the lines below it keep their numbers."""

    def short(text: str) -> str:
        return pattern.sub(lambda found: "…" if is_left(found) else found[0], text)

    # What goes is marked first, so that the places in the text stay right.
    marked = pattern.sub(lambda found: "…".ljust(len(found[0]), "\0") if is_left(found) else found[0], document.text)
    numbers = document.line_numbers
    if document.has_lines and "\0" in marked and "\n" in document.text:
        starts = [0, *(end.end() for end in re.finditer("\n", document.text))]
        lines = zip(numbers or count(1), starts, strict=False)
        numbers = tuple(number for number, start in lines if marked[start - 1 : start] != "\0")
    fields = tuple((name, short(value)) for name, value in document.fields)
    document = replace(document, title=short(document.title), text=marked, fields=fields, line_numbers=numbers)
    return changed(document, lambda text: text.replace("\0", ""))
