"""Read reStructuredText, whose headings are underlined."""

import re
from collections.abc import Iterator

from indexer.formats.encoding import decode
from indexer.formats.format import MAX_TITLE, Document, Format, Heading, OpenFile

# A label, a directive that declares the name of a section, such as `.. setting:: timezone`, or a blank line
_LABEL = re.compile(r"\.\. (?:_[^\n]*:|[\w-]+::[ \t]+(?P<name>[^\n]*\S))[ \t]*\n|[ \t]*\n")
# A title may begin with a literal, a role such as `:mod:`, emphasis or a substitution such as `|Document|`.
_UNDERLINED = re.compile(
    r"^(?P<title>(?::[\w.:+-]{1,40}:`|`{1,2}|\*{1,2}|\|)?_?[^\s\W_][^\n]*)\n(?P<line>([=\-~^\"'`#*+.:])\3{2,})[ \t]*$",
    re.MULTILINE,
)
_MARKED = re.compile(r"(?::[\w.:+-]{1,40}:)?(`{1,2}|\*{1,2})([^`*]+)\1|\|([^|\s][^|]*)\|")


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
            start = _labels_start(text, match.start(), match["title"])
            headings.append(Heading(start, level, _plain(match["title"])[:MAX_TITLE]))
    return tuple(headings)


def _plain(title: str) -> str:
    """A title without the marks of roles, literals, emphasis and substitutions."""
    return _MARKED.sub(lambda match: match[2] or match[3], title).strip()


def _labels_start(text: str, offset: int, title: str) -> int:
    """Where the labels above the heading at `offset` begin; they belong to its section."""
    start = line = offset
    while line:
        line = text.rfind("\n", 0, line - 1) + 1
        label = _LABEL.match(text, line)
        if label is None or (label["name"] or "") not in title:
            break
        if label[0].startswith(".."):
            start = line
    return start
