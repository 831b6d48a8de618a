"""Read Markdown: headings, of which the first is the title unless front matter has one."""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from cdesearch.search.readable import without_markup
from indexer.formats.encoding import decode
from indexer.formats.format import MAX_TITLE, Anchor, Document, Format, Heading, OpenFile

MAX_EMPTY = 2  # lines in a row
ESCAPED = "\\|"  # a sign in a cell that would otherwise end it
MAX_CELL = 500  # characters of a cell; a table with more in one only arranges text

_FENCE = re.compile(r"^ {0,3}(```|~~~)", re.MULTILINE)
_FRONT = re.compile(r"\A---[ \t]*\n.*?^---[ \t]*$", re.DOTALL | re.MULTILINE)
_ATX = re.compile(r"^(#{1,6})[ \t]+(.*)$", re.MULTILINE)
# A line of its own that is underlined, and is no quotation, item with a dash, row of a table or comment
_UNDERLINED = re.compile(r"(?:\A|(?<=\n\n)) {0,3}([^\s#>|`~*+<=-][^\n|]*)\n {0,3}(={3,}|-{3,})[ \t]*$", re.MULTILINE)


class Markdown(Format):
    """Markdown and its variants for notebooks."""

    suffixes = frozenset({".md", ".markdown", ".mdx", ".rmd", ".qmd"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        text = _with_signs(decode(file.stream.read()))
        headings = _headings(text, has_tags=True)
        title = headings[0].title if headings else ""
        yield Document.of(file, title, text, "markdown", headings=headings, has_lines=True)


def converted_document(path: str, title: str, markdown: str, anchors: tuple[Anchor, ...] = ()) -> Document:
    """The document of a file that was converted to Markdown.

    The title is its own, or else its first heading, or else the name of the file.
    """
    headings = _headings(markdown)
    title = title or (headings[0].title if headings else PurePosixPath(path).name)
    return Document(path, path, title, markdown, "markdown", headings=headings, anchors=anchors)


def marked_up_document(file: OpenFile, title: str, lines: list[str]) -> Document:
    """The document of a file of another markup whose lines were converted to Markdown one by one.

    Lines without text, such as comments, have become empty. Of more than MAX_EMPTY in a row, the others are left out.
    """
    numbers: list[int] = []
    n_empty = 0
    for number, line in enumerate(lines, start=1):
        n_empty = 0 if line.strip() else n_empty + 1
        if n_empty <= MAX_EMPTY:
            numbers.append(number)
    document = converted_document(file.path, title, "\n".join(lines[number - 1] for number in numbers))
    return replace(document, has_lines=True, line_numbers=tuple(numbers) if len(numbers) < len(lines) else ())


def table_of(rows: Iterable[Sequence[str]]) -> str:
    """A table with a line for each row that has text; a row of one cell is a paragraph."""
    found = [row for row in rows if any(map(str.strip, row))]
    if any(len(cell) > MAX_CELL for row in found for cell in row):
        return "\n".join(" | ".join(row) for row in found)
    return "\n".join(map(_row, found))


def without_headings(text: str) -> str:
    """Plain text for Markdown: a line such as a comment of a shell script, which begins with `#`, is not a heading."""
    return _ATX.sub(r" \g<0>", text)


def _row(cells: Sequence[str]) -> str:
    if len(cells) == 1:
        return " ".join(cells[0].split())
    return f"| {' | '.join(' '.join(cell.replace('|', ESCAPED).split()) for cell in cells)} |"


def _with_signs(text: str) -> str:
    """A text whose underlined headings begin with `#`, and are followed by an empty line."""
    fences = [match.start() for match in _FENCE.finditer(text)]
    front = found.end() if (found := _FRONT.match(text)) else 0  # a blank line in it does not begin a heading

    def marked(found: re.Match[str]) -> str:
        is_code = bisect(fences, front + found.start()) % 2
        return found[0] if is_code else f"{'#' if found[2][0] == '=' else '##'} {found[1]}\n"

    return text[:front] + _UNDERLINED.sub(marked, text[front:])


def _headings(text: str, *, has_tags: bool = False) -> tuple[Heading, ...]:
    fences = [match.start() for match in _FENCE.finditer(text)]
    headings, inside = [], 0
    for match in _ATX.finditer(text):
        while inside < len(fences) and fences[inside] < match.start():
            inside += 1
        if inside % 2 == 0:  # an odd number of fences before it: a comment in a code block
            title = match[2].rstrip(" \t#") or match[2][:1]  # "# #" is a heading named "#"
            title = without_markup(title).strip() if has_tags and "<" in title else title
            if title:
                headings.append(Heading(match.start(), len(match[1]), title[:MAX_TITLE]))
    return tuple(headings)
