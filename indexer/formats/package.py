"""Read the parts of ZIP archives of XML, within limits that do not depend on the sizes that an archive declares.

All documents of Office store the texts of shapes, charts and diagrams alike.
"""

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, KeysView
from itertools import islice
from typing import Any

from indexer.formats.format import OpenFile, UnreadableError

MAX_PART = 64_000_000  # bytes of one unpacked part: some 2,000 pages
MAX_PARTS = 100_000_000  # bytes of all of them
MAX_TAGS = 3_000_000  # of all parts that are read whole; each takes some 150 bytes in memory
STREAMED = 2  # so many tags of a part that is read element by element count as one
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # the container of encrypted Office files, and of those before 2007

MAX_PROPERTIES = 200
PROPERTIES = {  # of a document, with the names of their fields
    "title": "title", "creator": "author", "initial-creator": "author", "created": "created", "category": "category",
    "creation-date": "created", "subject": "subject", "keywords": "keywords", "keyword": "keywords",
}  # fmt: skip

BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)
_FILE_NAME = re.compile(r"\.(?:bmp|emf|gif|jpe?g|png|tiff?|wmf)$", re.IGNORECASE)
_ENTITY = re.compile(rb"<\0?!\0?E\0?N\0?T\0?I\0?T\0?Y")  # also in UTF-16
_SAFELY = {"resolve_entities": False, "no_network": True, "remove_comments": True, "remove_pis": True}


class Package:
    """An archive in memory. Methods raise UnreadableError, whose message names the `kind` of file, such as "DOCX".

    The limits hold for all parts together, and count a part again each time it is read.
    """

    def __init__(self, data: bytes, kind: str) -> None:
        self.kind = kind
        self._size = self._tags = 0
        if data.startswith(OLE):
            raise UnreadableError(f"encrypted {kind}, or a file of an old version of Office")
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
            self._entries = {entry.filename: entry for entry in self._archive.infolist()}
        except BROKEN:
            raise self.broken() from None

    @property
    def names(self) -> KeysView[str]:
        """The names of all parts."""
        return self._entries.keys()

    def broken(self) -> UnreadableError:
        """The error for a package that does not contain what its kind requires."""
        return UnreadableError(f"broken {self.kind}")

    def read(self, name: str, *, is_streamed: bool = False) -> bytes:
        """The bytes of a part, after counting what it really unpacks to; `is_streamed` if `iterate_xml` reads them."""
        entry = self._entries.get(name)
        if entry is None:
            raise self.broken()
        if entry.flag_bits & 1:
            raise UnreadableError(f"encrypted {self.kind}")
        self._check_limits()  # before unpacking, because a reader may go on with the other parts
        try:
            with self._archive.open(entry) as part:
                data = part.read(MAX_PART + 1)
        except BROKEN:
            raise self.broken() from None
        self._size += len(data)
        if len(data) > MAX_PART:
            raise UnreadableError(f"{self.kind} with a part that unpacks to more than {MAX_PART / 1e6:g} MB")
        self._tags += data.count(b"<") // (STREAMED if is_streamed else 1)
        self._check_limits()
        return data

    def _check_limits(self) -> None:
        if self._size > MAX_PARTS or self._tags > MAX_TAGS:
            limits = f"{MAX_PARTS / 1e6:g} MB or {MAX_TAGS:,} tags"
            raise UnreadableError(f"{self.kind} that unpacks to more than {limits}")

    def xml(self, name: str) -> Any:
        """The root element of a part."""
        return parse_xml(self.read(name), self.kind)


def parse_xml(data: bytes, kind: str) -> Any:
    """The root element; raises UnreadableError if `data` is not XML or declares entities. No other file is loaded."""
    from lxml import etree

    _refuse_entities(data, kind)
    try:
        return etree.fromstring(data, etree.XMLParser(**_SAFELY))
    except (etree.XMLSyntaxError, ValueError):
        raise UnreadableError(f"broken {kind}") from None


def iterate_xml(data: bytes, kind: str, *tags: str) -> Iterator[tuple[str, Any]]:
    """ "start" or "end" and the element, for each element of these local names; memory does not grow with `data`.

    The last of the `tags` is forgotten after its end. Raises UnreadableError as `parse_xml` does.
    """
    from lxml import etree

    _refuse_entities(data, kind)
    try:
        events = etree.iterparse(io.BytesIO(data), ("start", "end"), tag=[f"{{*}}{tag}" for tag in tags], **_SAFELY)
        for event, element in events:
            yield event, element
            if event == "end" and local_name(element) == tags[-1]:
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
    except (etree.XMLSyntaxError, ValueError):
        raise UnreadableError(f"broken {kind}") from None


def _refuse_entities(data: bytes, kind: str) -> None:
    """Raise UnreadableError for a declaration of entities: no writer needs one, and it may unpack without bounds."""
    if _ENTITY.search(data):
        raise UnreadableError(f"{kind} that declares XML entities")


def local_name(element: Any) -> str:
    """The name of an element without its namespace, which differs between versions of a format."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Any, name: str, default: str = "") -> str:
    """An attribute by its name without the namespace."""
    value = element.get(name)
    if value is None:
        value = next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), default)
    return str(value)


def number_in(text: str, default: int) -> int:
    """The number that an attribute holds; `default` if it holds none of at most nine digits."""
    return int(text) if text.isdecimal() and len(text) < 10 else default


def relations(package: Package, part: str) -> dict[str, tuple[str, str]]:
    """For each id, the kind and the part of what a part of an Office Open XML package refers to in the package."""
    folder, name = posixpath.split(part)
    file = posixpath.join(folder, "_rels", f"{name}.rels")
    if file not in package.names:
        return {}
    found = {}
    for element in package.xml(file).iter("{*}Relationship"):
        if attribute(element, "TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", folder, attribute(element, "Target"))).lstrip("/")
            found[attribute(element, "Id")] = (attribute(element, "Type").rpartition("/")[2], target)
    return found


def related_part(element: Any, targets: dict[str, tuple[str, str]]) -> tuple[str, str]:
    """The kind and the part that the attribute `r:id` of an element names; other ids have no namespace."""
    name = next((str(value) for key, value in element.attrib.items() if key.endswith("}id")), "")
    return targets.get(name, ("", ""))


def main_part(package: Package) -> str:
    """The name of the part of an Office Open XML package that contains the document."""
    parts = [target for kind, target in relations(package, "").values() if kind == "officeDocument"]
    if not parts:
        raise package.broken()
    return parts[0]


def title_of(package: Package, part: str, file: OpenFile) -> str:
    """The title in a part with metadata; "" if there is none or it cannot be read. `file` gets the other properties."""
    try:
        elements = package.xml(part).iter(*(f"{{*}}{name}" for name in PROPERTIES)) if part in package.names else ()
    except UnreadableError:
        return ""
    for element in islice(elements, MAX_PROPERTIES):
        name, text = PROPERTIES[local_name(element)], " ".join("".join(element.itertext()).split())
        if text:
            file.fields.append((name, text))
    return next((text for name, text in file.fields if name == "title"), "")


def texts_beside(package: Package, targets: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The text of each chart and diagram among the kinds and names of parts to which a part refers."""
    for kind, target in dict.fromkeys(targets):
        if kind in ("chart", "chartEx", "diagramData") and target in package.names:
            root = package.xml(target)
            yield "\n".join(paragraphs(root)) if kind == "diagramData" else _chart_text(root)


def paragraphs(parent: Any) -> Iterator[str]:
    """The text of each paragraph; items of lists are indented by their level."""
    for paragraph in parent.iter("{*}p"):
        pieces = paragraph.iter("{*}t", "{*}br")
        text = "".join("\n" if local_name(piece) == "br" else piece.text or "" for piece in pieces).strip()
        if text:
            properties = paragraph.find("{*}pPr")
            level = attribute(properties, "lvl", "0") if properties is not None else "0"
            yield "  " * (int(level) if level in set("12345678") else 0) + text


def alternative_texts(parent: Any) -> list[str]:
    """The titles and descriptions of pictures and other objects below an element, each once."""
    found = (alternative_text(attribute(one, "title"), attribute(one, "descr")) for one in parent.iter("{*}cNvPr"))
    return list(dict.fromkeys(filter(None, found)))


def alternative_text(*texts: str) -> str:
    """The title and description of a picture for people who cannot see it, without the name of the file."""
    return "\n".join(dict.fromkeys(text.strip() for text in texts if text.strip() and not _FILE_NAME.search(text)))


def _chart_text(chart: Any) -> str:
    """The titles of a chart and of its axes, and the names of its series and of their categories, in a line each."""
    titles = [" ".join(text.split()) for title in chart.iter("{*}title") for text in paragraphs(title)]
    series = list(chart.iter("{*}ser"))
    names = [[_cached_texts(one.find(f"{{*}}{name}")) for one in series] for name in ("tx", "cat")]
    lines = (" | ".join(dict.fromkeys(text for texts in found for text in texts)) for found in names)
    return "\n".join(filter(None, (*titles, *lines)))


def _cached_texts(reference: Any) -> list[str]:
    """The texts of cells that a chart refers to, which are stored in it as well, or its own. Numbers are left out."""
    if reference is None:
        return []
    stored = reference.iter("{*}strCache", "{*}multiLvlStrCache", "{*}strLit")
    values = [*reference.findall("{*}v"), *(value for texts in stored for value in texts.iter("{*}v"))]
    return [" ".join(value.text.split()) for value in values if value.text]
