"""Leave private keys out of texts."""

import re
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
_HEADER = re.compile(r"[A-Z][\w-]+: [^\n]*\n")
_SIGN = re.compile(r"[^\w+/=…]")
_LETTERS = re.compile(r"[\w+/=]{32,}|…")  # of a key, or what stands for them if there are many


def without_private_keys(document: Document, left_out: LeftOut) -> Document:
    """The document with "…" for each private key in it, which is counted; the lines below it keep their numbers."""
    texts = [document.text, document.title, *(value for _, value in document.fields)]
    if not any(mark in text for text in texts for mark in MARKS):
        return document

    def marked_key(found: re.Match[str]) -> str:
        if not _is_key(found):
            return found[0]
        line = document.text.count("\n", 0, found.start())
        numbers = document.line_numbers or range(1, line + 2)
        left_out.add(f"in line {numbers[line]}" if document.has_lines else "in the text", "is not read", "private key")
        return "…".ljust(len(found[0]), "\0")

    # What goes is marked first, so that the places in the text stay right.
    marked = _PRIVATE_KEY.sub(marked_key, document.text)
    numbers = document.line_numbers
    if document.has_lines and "\0" in marked and "\n" in document.text:
        starts = [0, *(end.end() for end in re.finditer("\n", document.text))]
        lines = zip(numbers or count(1), starts, strict=False)
        numbers = tuple(number for number, start in lines if marked[start - 1 : start] != "\0")
    fields = tuple((name, _without(value)) for name, value in document.fields)
    document = replace(document, title=_without(document.title), text=marked, fields=fields, line_numbers=numbers)
    return changed(document, lambda text: text.replace("\0", ""))


def _without(text: str) -> str:
    return _PRIVATE_KEY.sub(lambda found: "…" if _is_key(found) else found[0], text)


def _is_key(found: re.Match[str]) -> bool:
    if found[2] is None:
        return True
    between = _HEADER.sub("", found[2])
    return sum(map(len, _LETTERS.findall(between))) > KEY_SHARE * len(_SIGN.sub("", between))
