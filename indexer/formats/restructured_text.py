"""Read reStructuredText, whose headings are underlined."""

import re
from collections.abc import Iterator

from indexer.formats.encoding import decode
from indexer.formats.format import MAX_TITLE, Document, Format, Heading, OpenFile

_UNDERLINED = re.compile(r"^(?P<title>[^\s\W_][^\n]*)\n(?P<line>([=\-~^\"'`#*+.:])\3{2,})[ \t]*$", re.MULTILINE)


class RestructuredText(Format):
    """reStructuredText. The text is split along blank lines, as for Markdown."""

    suffixes = frozenset({".rst"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        text = decode(file.stream.read())
        headings = _headings(text)
        title = headings[0].title if headings else file.name
        # There is no splitter for reStructuredText. The splitter for Markdown is used, because it splits at blank lines
        # too. It does not recognise these headings, so the document names them.
        yield Document(file.path, file.path, title, text, "markdown", headings=headings, has_lines=True)


def _headings(text: str) -> tuple[Heading, ...]:
    """Sections; the order in which underline characters first occur determines their levels."""
    levels: dict[str, int] = {}
    headings = []
    for match in _UNDERLINED.finditer(text):
        if len(match["line"]) >= len(match["title"].rstrip()):
            level = levels.setdefault(match["line"][0], len(levels) + 1)
            headings.append(Heading(match.start(), level, match["title"].strip()[:MAX_TITLE]))
    return tuple(headings)
