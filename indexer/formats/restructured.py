"""Read reStructuredText as Markdown, line by line.

docutils is not used: it loses the lines of the file, and fails on the directives and roles of Sphinx. A directive that
is not in the tables below keeps its argument, which is usually a name, and its content.
"""

import re
from collections.abc import Iterator
from itertools import groupby, takewhile
from textwrap import dedent

from indexer.formats.code import check_no_private_key
from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format, OpenFile
from indexer.formats.markdown import marked_up_document, without_headings

CODE = frozenset("code code-block doctest parsed-literal prompt raw sourcecode testcode testoutput".split())  # noqa: SIM905
# Directives that are not shown, and whose contents are not shown either
UNSEEN = frozenset(
    """codeauthor contents currentmodule default-domain default-role highlight index meta moduleauthor program
    py:currentmodule role sectionauthor sectnum tabularcolumns""".split()  # noqa: SIM905
)
LISTS = frozenset({"autosummary", "toctree"})  # of documents and names, one a line
TITLED = frozenset("admonition csv-table list-table replace rubric sidebar table topic".split())  # noqa: SIM905
LABELS = {"seealso": "See also:"} | {
    name: f"{name.capitalize()}:"
    for name in ("attention", "caution", "danger", "error", "hint", "important", "note", "tip", "todo", "warning")
}
VERSIONS = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
}
LITERAL = frozenset({"code", "file", "kbd", "math", "samp"})  # roles whose text has no target
MOST_LABELS = 20  # lines between a directive and the heading that it belongs to
MOST_LEVELS = 6  # of headings in Markdown

_FENCE = re.compile(r"```|^ *~~~", re.MULTILINE)  # of Markdown
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,} *$")
_NO_TITLE = re.compile(r"\s|[-*+] |\.\. |>>>")
_EXPLICIT = re.compile(r" *\.\.(?: +(.*))?$")
_DIRECTIVE = re.compile(r"(?:\|[^|]+\| +)?([A-Za-z][\w.+-]*(?::[\w.+-]+)*) ?::(?: +(.*)|$)")
_NOTE = re.compile(r"\[([^\]]+)\](?: |$)")
_OPTION = re.compile(r" +:([\w -]+):(?: +(.*)|$)")
_ITEM = re.compile(r" *(?:(?:[-*+•]|[\w#]{1,3}[.)]) +)?")
_LANGUAGE = re.compile(r"[\w+#.-]*")
_URL = re.compile(r"^ *\.\. _(?:`([^`\n]+)`|([^:`\n]+)):(?: +|\n +)(\S*[^\s_]) *$", re.MULTILINE)
_INLINE = re.compile(
    r"``.+?``(?!`)|:(?P<kind>[A-Za-z][\w.:+-]{0,60}):`(?P<role>[^`]+)`|`(?P<text>[^`]+)`(?P<link>__?(?!\w))?"
    r"|(?P<note>\[[\w#*.-]{1,100}\])_(?!\w)|(?<!\w)(?P<word>[^\W_][\w.+-]{0,100}?)__?(?!\w)"
    r"|(?P<gap>\\(?: |(?=['\"])))|^(?P<number> *)#\.(?= )",
    re.DOTALL | re.MULTILINE,
)
_MARKED = re.compile(r"(`{1,2}|\*{1,2})([^`*]+)\1|\|([^|\s][^|]*)\||\[([^\[\]]+)\]\([^()\s]*\)")  # in a title


class RestructuredText(Format):
    """reStructuredText, also with the directives of Sphinx, without comments and targets."""

    suffixes = frozenset({".rst"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        text = decode(file.stream.read())
        check_no_private_key(file, text)
        yield marked_up_document(file, "", _Conversion(text.expandtabs()).lines())


class _Conversion:
    """The conversion of one text, whose lines are read from the first to the last."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._written = [""] * len(self._lines)
        self._prose: list[int] = []  # numbers of lines
        self._levels: dict[tuple[str, bool], int] = {}  # of headings, by their sign and whether it is above them, too
        self._bodies = [(-1, 0)]  # directives whose contents are prose: their indentation, and blanks to leave out
        self._urls = {_name(found[1] or found[2]): found[3] for found in _URL.finditer(text)}

    def lines(self) -> list[str]:
        """The lines as Markdown."""
        at = 0
        while at < len(self._lines):
            at = self._read(at)
        for _, run in groupby(enumerate(self._prose), key=lambda place: place[1] - place[0]):
            numbers = [number for _, number in run]
            paragraph = self._inline("\n".join(self._written[number] for number in numbers))  # markup may cross lines
            for number, line in zip(numbers, paragraph.split("\n"), strict=True):
                self._written[number] = without_headings(f" {line}" if line.startswith("~~~") else line)
        return self._written

    def _read(self, at: int) -> int:
        """Convert what begins in a line; returns the line after it."""
        line = self._lines[at]
        if not line.strip():
            return at + 1
        while _indent(line) <= self._bodies[-1][0]:
            self._bodies.pop()
        if title := self._title(at):
            number, sign = title
            level = self._levels.setdefault((sign, number > at), len(self._levels) + 1)
            text = " ".join(_MARKED.sub(r"\2\3\4", self._inline(self._lines[number])).split())
            self._written[number] = f"{'#' * min(level, MOST_LEVELS)} {text}"
            return number + 2
        if found := _EXPLICIT.match(line):
            return self._explicit(at, found[1] or "")
        if line.lstrip().startswith(">>>") and at and not self._line(at - 1):
            end = at + len(list(takewhile(str.strip, self._lines[at : at + 1000])))
            return self._code(at, end, "pycon")
        return self._paragraph(at)

    def _title(self, at: int) -> tuple[int, str] | None:
        """The number of the line of a title that begins here, perhaps with the line above it, and its sign."""
        above = _ADORNMENT.match(self._line(at))
        number = at + 1 if above else at
        title, below = self._line(number), _ADORNMENT.match(self._line(number + 1))
        if not title or not below or len(title.strip()) > len(below[0].rstrip()):
            return None
        if above[1] != below[1] if above else _NO_TITLE.match(title):
            return None
        return number, below[1]

    def _explicit(self, at: int, text: str) -> int:
        """Convert what begins with two dots: a directive, a footnote, or else a target or a comment."""
        if found := _DIRECTIVE.match(text):
            return self._directive(at, found[1].lower(), (found[2] or "").strip())
        if _NOTE.match(text):
            self._write(at, text)
            return self._open(at, at + 1)
        if text.startswith("_"):  # a target, which a blank line ends
            return at + 1 + len([*takewhile(str.strip, self._lines[at + 1 : self._end(at)])])
        return self._end(at) if text or self._line(at + 1) else at + 1  # two dots alone have no content

    def _directive(self, at: int, name: str, argument: str) -> int:
        if name in UNSEEN:
            return self._end(at)
        start, options = at + 1, {}
        while (found := _OPTION.match(self._line(start))) and _indent(found[0]) > _indent(self._lines[at]):
            options[found[1]] = (found[2] or "").strip()
            start += 1
        caption = options.get("caption", "")
        if name in CODE:
            self._write(at, caption)
            language = _LANGUAGE.match(argument)
            return self._code(self._after_blanks(start), self._end(at), language[0] if language else "")
        if name in LISTS:
            self._write(at, caption)
            end = self._end(at)
            for number in range(start, end):
                if entry := self._line(number).strip():
                    self._write(number, f"- {entry}")
            return end
        if name in ("image", "figure"):
            self._write(at, f"![{options.get('alt', '')}]({argument})")
        elif name in VERSIONS:
            version, _, change = argument.partition(" ")
            self._write(at, f"{f'{VERSIONS[name]} {version}'.rstrip()}{f': {change}' if change else '.'}")
        elif name in LABELS or name in TITLED:
            self._write(at, f"{LABELS.get(name, '')} {argument}".strip())
        elif not self._is_in_heading(at, argument):
            self._write(at, argument if "`" in argument else f"`{argument}`" if argument else "")
        return self._open(at, start)

    def _is_in_heading(self, at: int, argument: str) -> bool:
        """Whether a directive has no content and names what the heading below it has, as `setting` in Django does."""
        for number in range(at + 1, at + MOST_LABELS):
            line = self._line(number)
            if line and not _EXPLICIT.match(line):
                title = self._title(number)
                return title is not None and _name(argument) in _name(self._lines[title[0]])
        return False

    def _paragraph(self, at: int) -> int:
        """Convert a line of prose, and the code below it if it ends with two colons."""
        line = self._lines[at].rstrip()
        found = _ITEM.match(line)
        start = self._after_blanks(at + 1)
        column = found.end() if found else 0
        if not line.endswith("::") or start == at + 1 or _indent(self._line(start)) <= min(column, len(line) - 2):
            self._write(at, line)
            return at + 1
        text = line[:-2].rstrip()
        self._write(at, text if text != line[:-2] else text and f"{text}:")
        return self._code(start, self._end(start - 1, min(column, len(line) - 2)), "")

    def _code(self, start: int, end: int, language: str) -> int:
        """Write lines as code, if the line below them can be its fence. Code that follows code is joined to it."""
        body = self._lines[start:end]
        is_fenced = start < end < len(self._lines) and not self._line(end) and not _FENCE.search("\n".join(body))
        if is_fenced:
            body = dedent("\n".join(body)).split("\n")
            self._written[start - 1] = "" if self._written[start - 1] else f"```{language}"
            self._written[end] = "```"
        self._written[start:end] = body if is_fenced else map(without_headings, body)
        return end + is_fenced

    def _open(self, at: int, start: int) -> int:
        """Let the content of a directive be prose; returns the line after its options."""
        indent, inside = _indent(self._lines[at]), _indent(self._line(self._after_blanks(start)))
        if inside > indent:
            self._bodies.append((indent, self._bodies[-1][1] + inside - indent))
        return start

    def _write(self, at: int, text: str) -> None:
        """Write a line of prose with its own indentation, less that of the directives around it."""
        if text:
            indent = max(0, _indent(self._lines[at]) - self._bodies[-1][1])
            self._written[at] = " " * indent + text.strip()
            self._prose.append(at)

    def _line(self, at: int) -> str:
        return self._lines[at].rstrip() if at < len(self._lines) else ""

    def _after_blanks(self, at: int) -> int:
        while at < len(self._lines) - 1 and not self._line(at):
            at += 1
        return at

    def _end(self, at: int, indent: int | None = None) -> int:
        """The line after the last one below this line that is indented more than it, or than `indent`."""
        indent = _indent(self._lines[at]) if indent is None else indent
        end = number = at + 1
        while number < len(self._lines) and (not self._line(number) or _indent(self._lines[number]) > indent):
            number += 1
            end = number if self._line(number - 1) else end
        return end

    def _inline(self, text: str) -> str:
        """Text with its links as those of Markdown, and what roles are about as code, or as its own text."""

        def converted(found: re.Match[str]) -> str:
            if found["gap"]:
                return ""
            if found["number"] is not None:
                return f"{found['number']}1."
            if found["note"]:
                return found["note"]
            text = found["role"] or found["text"] or found["word"]
            is_link = found["word"] or found["link"]
            if not text or not (found["role"] or is_link):
                return found[0]
            has_target = text.endswith(">") and found["kind"] not in LITERAL
            label, _, target = text[:-1].rpartition("<") if has_target else ("", "", "")
            label = label.rstrip() if label[-1:].isspace() else ""
            if found["role"]:
                new = label or f"`{text.lstrip('~!')}`"
            elif url := "".join(target.split()) if label else self._urls.get(_name(text), ""):
                new = f"[{label or text}]({url})"
            else:
                new = found[0] if found["word"] else text
            return new + "\n" * (found[0].count("\n") - new.count("\n"))

        return _INLINE.sub(converted, text)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _name(text: str) -> str:
    """A name as others refer to it."""
    return " ".join(text.split()).casefold()
