"""Read XML: data with the names of its elements, and documents such as DocBook as prose.

The path of elements is the trail of a chunk. The text is parsed twice, so that no tree has to be in memory: `_Survey`
finds out which elements contain both text and elements, and `_Writer` writes the text.
"""

import html
import re
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

from indexer.formats.code import code_document
from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format, OpenFile
from indexer.formats.outline import MAX_VALUES, Outline, check_depth, readable
from indexer.formats.unreadable import UnreadableError

LEAF, PARENT, MIXED = 0, 1, 2  # elements without elements, with elements only, and with both elements and text
TITLES = ("title", "head", "name", "label", "summary", "id")  # elements that name the one around them, the best first
IDENTIFYING = ("name", "title", "label", "id", "key", "type", "href", "path", "value")  # attributes, the best first
PROSE_SHARE = 5  # if a fifth of the characters stand in mixed elements, the file is a document
MAX_ATTRIBUTES, MAX_NAME = 300, 100  # characters
UNPACKED = 20  # times the size of the file: what entities may unpack to
SPACED_DEPTH = 2  # parents up to this depth are separated by a blank line
VERBATIM = {"programlisting", "screen", "pre", "literallayout", "code", "codeblock", "eg", "synopsis"}
LEFT_OUT = {"indexterm", "remark"}  # elements of documents whose text is not shown
NOT_SHOWN = re.compile(r"xmlns(:|$)|xml:|xsi:")
NOT_CLOSED = 1_000_000
AMPLIFIED = 43  # the code of expat for entities that refer to one another without bounds

Attributes = dict[str, str]


class XmlFile(Format):
    """XML of any vocabulary. What is not well-formed is read as code."""

    suffixes = frozenset({
        ".xml", ".xsd", ".xsl", ".xslt", ".wsdl", ".rss", ".atom", ".opml", ".plist", ".kml", ".gpx", ".rdf", ".owl",
        ".docbook", ".dbk", ".tei", ".dita", ".ditamap", ".fodt", ".xlf", ".xliff", ".tmx", ".resx", ".xaml", ".csproj",
        ".vbproj", ".fsproj", ".vcxproj", ".props", ".targets", ".nuspec", ".pom", ".page", ".ui", ".glade",
    })  # fmt: skip

    def read(self, file: OpenFile) -> Iterator[Document]:
        text = decode(file.stream.read())
        data = text.encode()
        outline = Outline()
        survey = _Survey(len(data))
        try:
            survey.parse(data)
            _Writer(len(data), survey, outline).parse(data)
        except expat.ExpatError as error:
            if error.code == AMPLIFIED:
                raise _bomb() from None
            yield code_document(file, text, "xml")
        else:
            yield outline.document(file, survey.titles.get(0, (0, ""))[1])


class _Parsing:
    """One run of the parser, which calls `start`, `end` and `text`. Nothing outside of the file is read."""

    def __init__(self, size: int) -> None:
        self.parser = expat.ParserCreate("utf-8")
        self.parser.StartElementHandler = self._started
        self.parser.EndElementHandler = self._ended
        self.parser.CharacterDataHandler = self._unpacked
        self.parser.SkippedEntityHandler = self._skipped
        self._most = UNPACKED * size + 1_000_000
        self._n_characters = self.n_elements = self.depth = 0

    def parse(self, data: bytes) -> None:
        """Parse the file; raises ExpatError, or UnreadableError if it is too large or nested too deep."""
        self.parser.Parse(data, True)

    def start(self, name: str, attributes: Attributes) -> None:
        """The start of an element, whose number is `n_elements` and whose `depth` is 0 for the outermost one."""
        raise NotImplementedError

    def end(self, name: str) -> None:
        """The end of an element."""
        raise NotImplementedError

    def text(self, text: str) -> None:
        """A piece of text."""
        raise NotImplementedError

    def _started(self, name: str, attributes: Attributes) -> None:
        check_depth(self.depth, "XML")
        if self.n_elements >= MAX_VALUES:
            raise UnreadableError(f"XML of more than {MAX_VALUES:,} elements")
        self.start(name.rpartition(":")[2], attributes)
        self.n_elements += 1
        self.depth += 1

    def _ended(self, name: str) -> None:
        self.depth -= 1
        self.end(name.rpartition(":")[2])

    def _unpacked(self, text: str) -> None:
        self._n_characters += len(text)
        if self._n_characters > self._most:
            raise _bomb()
        self.text(text)

    def _skipped(self, name: str, is_parameter: bool) -> None:
        """An entity that a DTD outside of the file declares, such as `&nbsp;`."""
        if not is_parameter and self.depth:
            self.text(html.unescape(f"&{name};"))


def _bomb() -> UnreadableError:
    return UnreadableError("XML whose entities unpack to much more text than it contains")


class _Survey(_Parsing):
    """Finds the kind of each element, and the names that elements contain."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.kinds = bytearray()  # by number of the element
        self.titles: dict[int, tuple[int, str]] = {}  # by number of the parent: the rank of a title, and the title
        self._open: list[list[Any]] = []  # for each open element: number, whether it has text, its text if a title
        self._n_mixed = self._n_other = 0  # characters

    @property
    def is_prose(self) -> bool:
        """Whether the file is a document rather than data."""
        return self._n_mixed * PROSE_SHARE > self._n_mixed + self._n_other

    def start(self, name: str, attributes: Attributes) -> None:  # noqa: ARG002 (those of the writer)
        if self._open:
            self.kinds[self._open[-1][0]] = PARENT
        self._open.append([self.n_elements, 0, [] if name in TITLES else None])
        self.kinds.append(LEAF)

    def end(self, name: str) -> None:
        number, n_characters, parts = self._open.pop()
        if self.kinds[number] == PARENT and n_characters:
            self.kinds[number] = MIXED
            self._n_mixed += n_characters
        else:
            self._n_other += n_characters
        if self._open and parts is not None:
            title = " ".join("".join(parts).split())[:MAX_NAME]
            parent, rank = self._open[-1][0], TITLES.index(name)
            if title and rank < self.titles.get(parent, (len(TITLES), ""))[0]:
                self.titles[parent] = (rank, title)

    def text(self, text: str) -> None:
        if self._open and not text.isspace():
            self._open[-1][1] += len(text)
            for element in self._open[-2:]:  # a title may contain an element for emphasis
                if element[2] is not None:
                    element[2].append(text)


class _Writer(_Parsing):
    """Writes the text into an outline."""

    def __init__(self, size: int, survey: _Survey, outline: Outline) -> None:
        super().__init__(size)
        self._survey = survey
        self._outline = outline
        self._block: list[str] | None = None  # the text of the leaf or mixed element that is open
        self._label = ""
        self._depth_of_block = self._line = 0
        self._is_verbatim = False
        self._left_out: int | None = None  # the depth of the element that is left out
        self._headed: list[int] = []  # the depths of the open elements with a heading
        self._closed = NOT_CLOSED  # the least depth of those that were closed since the last heading

    def start(self, name: str, attributes: Attributes) -> None:
        if self._left_out is not None or name in LEFT_OUT:
            self._left_out = self.depth if self._left_out is None else self._left_out
            return
        if self._block is not None:
            self._is_verbatim = self._is_verbatim or name in VERBATIM
            if self._block and not self._block[-1][-1].isspace() and name in ("br", "p", "para", "li", "item"):
                self._block.append(" ")
            return
        kind = self._survey.kinds[self.n_elements]
        shown = _shown(attributes)
        is_prose = self._survey.is_prose
        if kind != PARENT:
            self._block = []
            self._depth_of_block, self._line = self.depth, self.parser.CurrentLineNumber
            self._label = "" if is_prose else f"{name} {shown}".rstrip()
            self._is_verbatim = name in VERBATIM
            return
        self._begin_parent(name, attributes, shown)

    def end(self, name: str) -> None:  # noqa: ARG002 (those of the survey)
        if self._left_out is not None:
            self._left_out = None if self.depth == self._left_out else self._left_out
            return
        if self._headed and self._headed[-1] == self.depth:
            self._closed = self._headed.pop()
        if self._block is None or self.depth != self._depth_of_block:
            return
        text = "".join(self._block)
        self._block = None
        line = self._line + text[: len(text) - len(text.lstrip())].count("\n") if text.strip() else self._line
        lines = text.strip("\n").rstrip().split("\n") if self._is_verbatim else text.strip().split("\n")
        text = "\n".join(part.rstrip() if self._is_verbatim else readable(" ".join(part.split())) for part in lines)
        if self._survey.is_prose:
            if text:
                self._end_headings()
                self._outline.blank(line)
                self._outline.line(text, line, is_spread=True)
        elif text or " " in self._label:
            value = f"{self._label}: {text}" if text else self._label
            self._end_headings()
            self._outline.line(value, line, max(0, self.depth - 1), is_spread=True)

    def text(self, text: str) -> None:
        if self._block is not None and self._left_out is None:
            if not self._block:
                self._line = self.parser.CurrentLineNumber
            self._block.append(text)

    def _begin_parent(self, name: str, attributes: Attributes, shown: str) -> None:
        """Begin an element without text of its own: a heading, and for data a line."""
        number = self.parser.CurrentLineNumber
        if not self.depth:  # no heading, which would be in every trail
            if shown and not self._survey.is_prose:
                self._outline.line(f"{name} {shown}", number)
            return
        title = self._survey.titles.get(self.n_elements, (0, ""))[1]
        named = next((attributes[key] for key in IDENTIFYING if attributes.get(key, "").strip()), "")
        if self._survey.is_prose:
            if title:
                self._outline.blank(number)
                self._begin_heading(title)
            return
        if self.depth <= SPACED_DEPTH:
            self._outline.blank(number)
        self._begin_heading(title or f"{name} {named}".strip()[:MAX_NAME])
        self._outline.line(f"{name} {shown}".rstrip(), number, self.depth - 1)

    def _begin_heading(self, title: str) -> None:
        if self._closed < self.depth:
            self._end_headings()
        self._outline.heading(self.depth, title)
        self._headed.append(self.depth)
        self._closed = NOT_CLOSED

    def _end_headings(self) -> None:
        """Begin an empty heading, so that the text that follows an element is not below the heading of the element."""
        if self._closed != NOT_CLOSED:
            self._outline.heading(self._closed, "")
            self._closed = NOT_CLOSED


def _shown(attributes: Attributes) -> str:
    """The attributes that say something, on one line."""
    shown = (
        f"{name.rpartition(':')[2]}={readable(' '.join(value.split()))}"
        for name, value in attributes.items()
        if value.strip() and not NOT_SHOWN.match(name)
    )
    return " ".join(shown)[:MAX_ATTRIBUTES]
