"""Read Org: headlines become Markdown headings, and settings, drawers and comments are left out, line by line."""

import re
from bisect import bisect
from collections.abc import Iterator

from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format, OpenFile
from indexer.formats.markdown import marked_up_document

_HEADLINE = re.compile(r"^(\*+)[ \t]+(?:(?:TODO|DONE|NEXT|WAIT(?:ING)?|CANCELL?ED)[ \t]+)?(?:\[#\w\][ \t]*)?(.*)$")
_TAGS = re.compile(r":[\w@#%:]+:")
_KEYWORD = re.compile(r"^[ \t]*#\+(\w+)(?::[ \t]*|[ \t]+|$)(.*)$")
_DRAWER = re.compile(r"^[ \t]*:\w[\w-]*:[ \t]*$")
_DRAWER_END = re.compile(r"^[ \t]*:END:[ \t]*$", re.IGNORECASE)
_COMMENT = re.compile(r"^[ \t]*#(?:[ \t]|$)")
_LINK = re.compile(r"\[\[([^\]\[\n]{1,2000})\](?:\[([^\]\[\n]{1,2000})\])?\]")
VERBATIM = {"src", "example", "export"}  # blocks
SHOWN = {"caption"}  # keywords whose value is text
MOST_DRAWER_LINES = 200  # a drawer whose end is missing does not hide the rest of the file


class Org(Format):
    """Org files of Emacs."""

    suffixes = frozenset({".org"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        lines = decode(file.stream.read()).split("\n")
        title = ""
        written: list[str] = []
        block: str | None = None  # the name of the verbatim block that is open
        ends_of_drawers = [number for number, line in enumerate(lines) if _DRAWER_END.match(line)]
        drawer_end = -1
        for number, line in enumerate(lines):
            if number <= drawer_end:
                written.append("")
                continue
            keyword = _KEYWORD.match(line)
            name, value = (keyword[1].lower(), keyword[2]) if keyword else ("", "")
            if block is not None:
                is_end = name == f"end_{block}"
                block = None if is_end else block
                written.append("```" if is_end else line.replace(",", "", 1) if line.startswith((",*", ",#")) else line)
            elif name.startswith("begin_") and name.removeprefix("begin_") in VERBATIM:
                block = name.removeprefix("begin_")
                written.append("```" + (value.split() or [""])[0].strip("`"))
            elif keyword:
                title = title or (value.strip() if name == "title" else "")
                written.append(value if name in SHOWN else "")
            elif _DRAWER.match(line) and not _DRAWER_END.match(line):
                drawer_end = _end_of_drawer(ends_of_drawers, number)
                written.append("" if drawer_end > number else line)
            else:
                written.append(_prose(line))
        yield marked_up_document(file, title, written)


def _end_of_drawer(ends: list[int], start: int) -> int:
    """The line that ends the drawer which begins at `start`; `start` if none does."""
    number = bisect(ends, start)
    return ends[number] if number < len(ends) and ends[number] < start + MOST_DRAWER_LINES else start


def _without_tags(headline: str) -> str:
    words = headline.rsplit(maxsplit=1)
    return words[0] if len(words) == 2 and _TAGS.fullmatch(words[1]) else headline


def _prose(line: str) -> str:
    headline = _HEADLINE.match(line)
    if headline:
        line = f"{'#' * min(6, len(headline[1]))} {_without_tags(headline[2])}"
    elif _COMMENT.match(line):
        return ""
    return _LINK.sub(lambda link: link[2] or link[1], line) if "[[" in line else line
