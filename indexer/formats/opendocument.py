"""Open OpenDocument files, and read the text of their paragraphs, lists and tables."""

from collections.abc import Iterator
from typing import Any

from indexer.formats.markdown import without_headings
from indexer.formats.package import Package, attribute, local_name, title_of
from indexer.formats.unreadable import UnreadableError

CONTENT = "content.xml"
STYLES = "styles.xml"
# Deleted text, comments, and text that the program generates, such as a table of contents
LEFT_OUT = {
    "tracked-changes", "annotation", "annotation-end", "table-of-content", "alphabetical-index", "illustration-index",
    "table-index", "object-index", "user-index", "bibliography", "note-citation", "title", "desc", "forms",
}  # fmt: skip
BLANKS = {"s": " ", "tab": "\t", "line-break": "\n"}
ROW_GROUPS = {"table-header-rows", "table-rows", "table-row-group"}
BLOCKS = {"p", "h", "list", "table", "text-box", "section", "list-item", "note-body"}


def open_package(data: bytes, kind: str) -> tuple[Package, str]:
    """The package and the title of its document; raises UnreadableError if it is encrypted or broken."""
    package = Package(data, kind)
    manifest = "META-INF/manifest.xml"
    if manifest in package.names and b"encryption-data" in package.read(manifest):
        raise UnreadableError(f"encrypted {kind}")
    return package, title_of(package, "meta.xml")


def _paragraph_text(element: Any) -> str:
    """The text of a paragraph, with footnotes and text boxes in it after a blank."""
    parts: list[str] = []
    _collect(element, parts)
    return "".join(parts).strip()


def _collect(element: Any, parts: list[str]) -> None:
    parts.append(element.text or "")
    for child in element:
        name = local_name(child)
        if name in BLANKS:
            parts.append(BLANKS[name])
        elif name not in LEFT_OUT:
            if name in BLOCKS:
                parts.append(" ")
            _collect(child, parts)
            if (name in BLOCKS or name == "frame") and (child.tail or "")[:1].isalnum():
                parts.append(" ")
        parts.append(child.tail or "")


def blocks(parent: Any, depth: int = 0) -> Iterator[str]:
    """The Markdown of the headings, paragraphs, lists and tables below `parent`, one after the other."""
    for child in parent:
        name = local_name(child)
        if name == "h":
            level = attribute(child, "outline-level", "1")
            text = " ".join(_paragraph_text(child).split())
            yield f"{'#' * max(1, min(int(level), 6))} {text}" if text and level.isdecimal() else text
        elif name == "p":
            yield without_headings(_paragraph_text(child))
        elif name == "list":
            yield "\n".join(_items(child, depth))
        elif name == "table":
            yield "\n".join(" | ".join(row) for row in table_rows(child))
        elif name not in LEFT_OUT:
            yield from blocks(child, depth)


def _items(element: Any, depth: int) -> Iterator[str]:
    for item in element:
        texts = [text for text in blocks(item, depth + 1) if text.strip()]
        is_list = [local_name(child) == "list" for child in item if local_name(child) in ("list", "p", "h")]
        for number, text in enumerate(texts):
            nested = len(is_list) == len(texts) and is_list[number]
            yield text if nested else "  " * depth + ("  " if number else "- ") + text


def table_rows(table: Any) -> Iterator[list[str]]:
    """The texts of the cells of each row; what spans or repeats several cells is written once."""
    for child in table:
        name = local_name(child)
        if name in ROW_GROUPS:
            yield from table_rows(child)
        elif name == "table-row":
            cells = [cell for cell in child if local_name(cell) == "table-cell"]
            texts = [" ".join(" ".join(blocks(cell)).split()) for cell in cells]
            if any(texts):
                yield texts
