"""Read XML: data with the names of its elements, and documents such as DocBook as prose.

The path of elements is the trail of a chunk.
"""

import html
import re
from collections.abc import Iterator
from typing import Any

from indexer.formats.code import code_document
from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.html import without_tags
from indexer.formats.outline import MAX_VALUES, Outline
from indexer.formats.package import local_name

TITLES = ("title", "head", "name", "label", "summary", "id")  # elements that name the one around them, the best first
IDENTIFYING = ("name", "title", "label", "id", "key", "type", "href", "path", "value")  # attributes, the best first
PROSE_SHARE = 5  # if a fifth of the characters stand in mixed elements, the file is a document
MAX_ATTRIBUTES, MAX_NAME = 300, 100  # characters
SPACED_DEPTH = 2  # parents up to this depth are separated by a blank line
VERBATIM = {"programlisting", "screen", "pre", "literallayout", "code", "codeblock", "eg", "synopsis"}
LEFT_OUT = {"indexterm", "remark", "binary", "document-info"}  # elements of documents whose text is not shown
NAMING = {"name", "title", "label", "key", "alt", "summary"}  # attributes of documents that are read
LOOKS = {"class", "style", "rend", "role", "transform", "font-family"}  # those that are not, although they have words
PROSE = {"FictionBook", "svg"}  # the outermost elements of other documents
DRAWN = ("title", "desc", "text", "foreignObject")  # elements of drawings that have text
SPACED = {"br", "p", "para", "li", "item", "tab", "line-break"}  # in text, they separate words
NOT_SHOWN = ("{http://www.w3.org/XML/1998/namespace}", "{http://www.w3.org/2001/XMLSchema-instance}")
NOT_CLOSED = 1_000_000

_DECLARED = re.compile(r"<!ENTITY\s+([\w.-]+)\s+[\"']")
_PREFIX = re.compile(r"(</?)[\w.-]+:(?=\w)|(\s)(?!xml)[\w.-]+:(?=[\w.-]+=[\"'])")  # of a namespace
_WORDS = re.compile(r"[^\W\d_]{2}\S* \W?[^\W\d_]{2}")
_ENTITY = re.compile(r"&([A-Za-z][\w.-]*);")


class XmlFile(Format):
    """XML of any vocabulary. What is not well-formed is read as code."""

    suffixes = frozenset({
        ".xml", ".xsd", ".xsl", ".xslt", ".wsdl", ".rss", ".atom", ".opml", ".plist", ".kml", ".gpx", ".rdf", ".owl",
        ".docbook", ".dbk", ".tei", ".dita", ".ditamap", ".fodt", ".xlf", ".xliff", ".tmx", ".resx", ".xaml", ".csproj",
        ".vbproj", ".fsproj", ".vcxproj", ".props", ".targets", ".nuspec", ".pom", ".page", ".ui", ".glade", ".fb2",
        ".svg", ".webloc", ".ttml", ".dfxp", ".ofx", ".qfx",
    })  # fmt: skip

    def read(self, file: OpenFile) -> Iterator[Document]:
        data = file.stream.read()
        if data.startswith(b"bplist") and file.name.lower().endswith(".webloc"):  # a link as Safari writes it
            import plistlib

            yield Document.of(file, "", plistlib.loads(data)["URL"].strip())
            return
        text = decode(data)
        root = _root(text)
        if root is None:
            yield code_document(file, text, "xml")
            return
        writer = _Writer(root)
        drawn = [f"{{*}}{name}" for name in DRAWN]
        for part in [root] if local_name(root) != "svg" else root.iter(*drawn):
            if next(part.iterancestors(*drawn), None) is None:  # else it was written with the outer one
                writer.write(part, 0)
        book = root.find(".//{*}book-title")
        yield writer.outline.document(file, _title(root) if book is None else "".join(book.itertext()))


def _root(text: str) -> Any:
    """The outermost element; None if the text is not well-formed. Nothing outside of the file is read.

    Raises UnreadableError if it is too large or nested too deep, or has entities that unpack without bounds.
    """
    from lxml import etree

    if text.count("<") - text.count("</") > MAX_VALUES:
        raise UnreadableError(f"XML of more than {MAX_VALUES:,} elements")
    if "<!DOCTYPE" in text:  # which may declare entities such as `&nbsp;` outside of the file
        known = {"lt", "gt", "amp", "quot", "apos", *_DECLARED.findall(text)}
        text = _ENTITY.sub(lambda match: match[0] if match[1] in known else html.escape(html.unescape(match[0])), text)
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities="internal", no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        if error.code == etree.ErrorTypes.ERR_RESOURCE_LIMIT:
            raise UnreadableError("XML that is nested too deep, or whose entities unpack to too much text") from None
        if error.code == etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE and _PREFIX.search(text):
            return _root(_PREFIX.sub(r"\1\2", text))
        return None


def _own_characters(element: Any) -> int:
    """The number of characters of its own text that is not blank."""
    pieces = (element.text, *(child.tail for child in element))
    return sum(len(piece) for piece in pieces if piece and not piece.isspace())


def _title(element: Any) -> str:
    """The text of the element that names this one, or ""."""
    named = sorted((TITLES.index(name), n) for n, one in enumerate(element) if (name := local_name(one)) in TITLES)
    found = (" ".join("".join(_pieces(element[number])).split())[:MAX_NAME] for _, number in named)
    return next(filter(None, found), "")


class _Writer:
    """Writes elements into an outline."""

    def __init__(self, root: Any) -> None:
        self.outline = Outline()
        sizes = [(_own_characters(element), len(element)) for element in root.iter()]
        n_mixed = sum(size for size, n_inner in sizes if n_inner)
        n_characters = sum(size for size, _ in sizes)
        self._is_known = local_name(root) in PROSE
        self._is_prose = self._is_known or n_mixed * PROSE_SHARE > n_characters  # rather than data
        self._closed = NOT_CLOSED  # the least depth of the elements that were closed since the last heading

    def write(self, element: Any, depth: int) -> None:
        """Write an element that `depth` others contain."""
        if local_name(element) in LEFT_OUT:
            return
        if len(element) == 0 or _own_characters(element):
            self._write_text(element, depth)
            return
        has_heading = self._begin_parent(element, depth)
        for child in element:
            self.write(child, depth + 1)
        if has_heading:
            self._closed = depth

    def _write_text(self, element: Any, depth: int) -> None:
        text = "".join(_pieces(element))
        line = element.sourceline + (text[: len(text) - len(text.lstrip())].count("\n") if text.strip() else 0)
        if any(local_name(one) in VERBATIM for one in element.iter()):
            text = "\n".join(part.rstrip() for part in text.strip("\n").rstrip().split("\n"))
        else:
            text = text if self._is_prose else without_tags(text)
            text = "\n".join(" ".join(part.split()) for part in text.strip().split("\n"))
        label = "" if self._is_prose else f"{local_name(element)} {_shown(element)}".rstrip()
        if self._is_prose and text:
            self._end_headings()
            self.outline.blank(line)
            self._write_names(element)
            self.outline.line(text, line, is_spread=True)
        elif not self._is_prose and (text or " " in label):
            self._end_headings()
            self.outline.line(f"{label}: {text}" if text else label, line, max(0, depth - 1), is_spread=True)

    def _begin_parent(self, element: Any, depth: int) -> bool:
        """Begin an element without text of its own: a heading, and for data a line; returns whether it has a heading.

        The outermost element has no heading, which would be in every trail.
        """
        name, shown, title = local_name(element), _shown(element), _title(element)
        if not depth:
            if shown and not self._is_prose:
                self.outline.line(f"{name} {shown}", element.sourceline)
        elif self._is_prose:
            if title:
                self.outline.blank(element.sourceline)
                self._begin_heading(title, depth)
            self._write_names(element)
        else:
            if depth <= SPACED_DEPTH:
                self.outline.blank(element.sourceline)
            named = next((element.get(key) for key in IDENTIFYING if element.get(key, "").strip()), "")
            self._begin_heading(title or f"{name} {named}".strip()[:MAX_NAME], depth)
            self.outline.line(f"{name} {shown}".rstrip(), element.sourceline, depth - 1)
        return bool(depth and (title or not self._is_prose))

    def _write_names(self, element: Any) -> None:
        """Write the attributes of an element of prose that are names or words."""
        if not self._is_known and (names := _shown(element, is_prose=True)):
            self.outline.line(names, element.sourceline)

    def _begin_heading(self, title: str, depth: int) -> None:
        if self._closed < depth:
            self._end_headings()
        self.outline.heading(depth, title)
        self._closed = NOT_CLOSED

    def _end_headings(self) -> None:
        """Begin an empty heading, so that the text that follows an element is not below the heading of the element."""
        if self._closed != NOT_CLOSED:
            self.outline.heading(self._closed, "")
            self._closed = NOT_CLOSED


def _pieces(element: Any, before: str = " ") -> Iterator[str]:
    """The text of an element and of all in it; `before` is the text before it."""
    if element.text:
        yield (before := element.text)
    for child in element:
        name = local_name(child)
        previous = child.getprevious()
        is_beside = previous is not None and not previous.tail and local_name(element) not in VERBATIM
        if (name in SPACED or is_beside) and not before[-1].isspace():
            yield (before := " ")
        if name not in LEFT_OUT:
            for piece in _pieces(child, before):
                yield (before := piece)
        if child.tail:
            yield (before := child.tail)


def _shown(element: Any, *, is_prose: bool = False) -> str:
    """The attributes that say something, on one line; of prose those that are names or words, and not its looks."""
    shown = (
        f"{last}={' '.join(value.split())}"
        for name, value in element.attrib.items()
        if value.strip() and not name.startswith(NOT_SHOWN)
        if (last := name.rpartition("}")[2])
        if not is_prose or (last not in LOOKS and (last in NAMING or _WORDS.search(value)))
    )
    return " ".join(shown)[:MAX_ATTRIBUTES]
