"""Convert electronic books to Markdown, chapter by chapter in the order of reading."""

import posixpath
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from indexer.formats.encoding import decode
from indexer.formats.format import MAX_TITLE, Anchor, Document, Format, OpenFile, UnreadableError
from indexer.formats.html import VOID, Page, to_markdown
from indexer.formats.markdown import converted_document
from indexer.formats.package import Package, attribute, title_of

KIND = "EPUB"
CONTAINER, ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "")
GAP = "\n\n"  # between chapters

# XML may close any element at once, which a parser of HTML reads as an opening tag.
_CLOSED_AT_ONCE = re.compile(r"<([a-zA-Z][\w:.-]{0,50})((?:\s[^<>]{0,2000})?)/>")


class Epub(Format):
    """Electronic books without copy protection. The titles of the table of contents are headings."""

    suffixes = frozenset({".epub"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        book = _Book(Package(file.stream.read(), KIND), file)
        texts: list[str] = []
        anchors: list[Anchor] = []
        size = n_read = 0
        for number, part in enumerate(book.chapters(), start=1):
            try:
                chapter = _chapter(book.package.read(part), book.titles.get(part, ""))
            except UnreadableError as error:
                file.left_out.add(number, f"cannot be read: {error}", "chapter")
                continue
            n_read += 1
            if chapter.text:
                anchors += _within_book(chapter, part, size)
                texts.append(chapter.text)
                size += len(chapter.text) + len(GAP)
        if not n_read:
            if file.left_out.n_lines:
                raise UnreadableError(f"none of its chapters can be read: {file.left_out.problems}")
            raise UnreadableError(f"encrypted {KIND}") if book.is_encrypted else book.package.broken()
        yield converted_document(file.path, book.title, GAP.join(texts), tuple(anchors))


class _Book:
    """The contents of a book as its package lists them."""

    def __init__(self, package: Package, file: OpenFile) -> None:
        self.package = package
        found = package.xml(CONTAINER).find(".//{*}rootfile")
        if found is None:
            raise package.broken()
        self._file = attribute(found, "full-path")
        self._root = package.xml(self._file)
        self._items = {attribute(item, "id"): item for item in self._root.iterfind("{*}manifest/{*}item")}
        self._navigation = self._part_of("properties", "nav")  # of EPUB 3, which is not a chapter
        # Parts that only a reader with a licence can decrypt; many books only encrypt their fonts.
        encrypted = package.xml(ENCRYPTION).iter("{*}CipherReference") if ENCRYPTION in package.names else ()
        self._encrypted = {unquote(attribute(element, "URI")).lstrip("/") for element in encrypted}
        self.title = title_of(package, self._file, file)
        self.is_encrypted = False  # whether a chapter was left out because it is encrypted
        self.titles: dict[str, str] = {}  # the first title that the table of contents has for each part
        try:
            for part, title in self._contents():
                if title:
                    self.titles.setdefault(part, title)
        except UnreadableError:  # the table of contents cannot be read
            pass

    def chapters(self) -> Iterator[str]:
        """The parts in the order of reading, each once."""
        seen = {self._navigation}
        for reference in self._root.iterfind("{*}spine/{*}itemref"):
            item = self._items.get(attribute(reference, "idref"))
            if item is None or attribute(item, "media-type") not in PAGES:
                continue
            part = self._part(self._file, attribute(item, "href"))
            if part in self._encrypted:
                self.is_encrypted = True
            elif part not in seen and part in self.package.names:
                seen.add(part)
                yield part

    def _part(self, base: str, reference: str) -> str:
        path = unquote(reference.partition("#")[0])
        return posixpath.normpath(posixpath.join("/", posixpath.dirname(base), path)).lstrip("/")

    def _part_of(self, name: str, value: str) -> str:
        """The part of the first item that has a value in the list of an attribute; "" if there is none."""
        items = (item for item in self._items.values() if value in re.split(r"[\s/+-]", attribute(item, name)))
        return next((self._part(self._file, attribute(item, "href")) for item in items), "")

    def _contents(self) -> Iterator[tuple[str, str]]:
        """The parts and the titles in the table of contents."""
        if self._navigation:
            for link in self.package.xml(self._navigation).iter("{*}a"):
                yield self._part(self._navigation, attribute(link, "href")), _line(link)
        elif older := self._part_of("media-type", "dtbncx"):
            for point in self.package.xml(older).iter("{*}navPoint"):
                content, label = point.find("{*}content"), point.find("{*}navLabel")
                if content is not None and label is not None:
                    yield self._part(older, attribute(content, "src")), _line(label)


def _line(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


def _within_book(chapter: Page, part: str, start: int) -> Iterator[Anchor]:
    """The anchors of a chapter that begins at `start` in the book: its part, and its part with the id of an element."""
    if not part.isprintable() or len(part) > MAX_TITLE:
        return
    if not chapter.anchors or chapter.anchors[0].offset > 0:
        yield Anchor(start, part)
    for anchor in chapter.anchors:
        yield Anchor(start + anchor.offset, f"{part}#{anchor.name}")


def _chapter(data: bytes, title: str) -> Page:
    """The Markdown of a chapter, which begins with its title in the table of contents unless its heading says so."""
    opened = _CLOSED_AT_ONCE.sub(
        lambda tag: tag[0] if tag[1].lower() in VOID else f"<{tag[1]}{tag[2]}></{tag[1]}>", decode(data, is_markup=True)
    )
    page = to_markdown(opened)
    is_said = page.text.startswith("# ") and {*title.split()} <= {*page.text[:MAX_TITLE].split()}
    if title and page.text and not is_said:
        heading = f"# {title}\n\n"
        moved = tuple(Anchor(len(heading) + anchor.offset, anchor.name) for anchor in page.anchors)
        return Page(title, heading + page.text, moved)
    return page
