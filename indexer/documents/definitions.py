"""Which class and function is a line of code in? The signatures become headings, as in other documents."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from indexer.documents.parsing import parse_code
from indexer.formats.format import Document, Heading

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

MAX_SIGNATURE = 80  # characters; every chunk of a long function begins with them
MAX_PARSED = 1_000_000  # characters
# Nodes of the grammars of many languages
_DEFINITION = re.compile(
    r"(?:\w+_)?(?:function|method|constructor|class|struct|enum|union|interface|trait|impl|module|mod|namespace|object|record|protocol)"
    r"(?:_(?:definition|declaration|item|specifier|statement|implementation))?"
)


def with_definitions(document: Document) -> Document:
    """Return code with a heading for each class and function that has a body of several lines."""
    if document.layout != "code" or document.language is None or document.headings or document.pages:
        return document
    tree = parse_code(document.text, document.language) if len(document.text) <= MAX_PARSED else None
    return document if tree is None else replace(document, headings=tuple(_headings(document.text, tree)))


def _headings(text: str, tree: "Tree") -> Iterator[Heading]:
    """Yield the headings in the order of the text.

    Where text follows a definition that is not in the next one, an empty heading ends the definition.
    """
    data = text.encode("utf-8", "replace")
    found = []
    for start, end, level, title in _definitions(data, tree):
        found += [(start, level, title), (end, level, "")]
    found.sort(key=lambda one: (one[0], bool(one[2]), -one[1]))  # a definition ends before the next one begins
    offset = before = 0
    for (start, level, title), (end, _, _) in pairwise([*found, (len(data), 0, "")]):
        offset += start - before if text.isascii() else len(data[before:start].decode("utf-8", "replace"))
        before = start
        if title or data[start:end].strip():
            yield Heading(offset, level, title)


def _definitions(data: bytes, tree: "Tree") -> Iterator[tuple[int, int, int, str]]:
    """Yield the start, the end, the level and the signature of each definition. Offsets are in bytes."""
    nodes: list[tuple[Node, int]] = [(tree.root_node, 1)]
    while nodes:
        node, level = nodes.pop()
        body = node.child_by_field_name("body") if _DEFINITION.fullmatch(node.type) else None
        if body is not None and node.end_point.row > node.start_point.row:
            end = min([body.start_byte, *(child.start_byte for child in node.children if child.type == "comment")])
            title = " ".join(data[node.start_byte : end].decode("utf-8", "replace").split())
            if title := title.rstrip(" :{=")[:MAX_SIGNATURE]:
                yield node.start_byte, node.end_byte, level, title
                level += 1
        nodes += [(child, level) for child in node.named_children if child.named_child_count]
