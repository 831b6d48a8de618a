"""Read TOML, INI and its relatives: the text as it is, and the names of sections in brackets as headings."""

import re
from collections.abc import Iterator

from indexer.formats.code import code_document
from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format, Heading, OpenFile, suffix_of

# The name of a section, or what may contain a bracket at the start of a line: comments and texts of several lines
_TOML = re.compile(
    r"""\#[^\n]*|\"{3}(?:[^"\\]|\\.|"{1,2}(?!"))*(?:\"{3}|\Z)|'{3}(?:[^']|'{1,2}(?!'))*(?:'{3}|\Z)"""
    r"""|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|^[ \t]{0,20}\[\[?(?P<name>\w[\w."' -]{0,199})\]\]?[ \t]{0,20}(?=\#|$)""",
    re.MULTILINE | re.DOTALL,
)
_INI = re.compile(r"^\[(?P<name>[^\]\n]{1,200})\][ \t]{0,20}(?=[;#]|$)", re.MULTILINE)


class Sections(Format):
    """Files of settings with sections."""

    suffixes = frozenset({
        ".toml", ".ini", ".cfg", ".desktop", ".service", ".socket", ".timer", ".target", ".mount", ".path", ".slice",
        ".network", ".netdev", ".link", ".theme", ".inf", ".reg", ".url", ".directory",
    })  # fmt: skip
    names = frozenset({"pipfile"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        text = decode(file.stream.read())
        is_toml = suffix_of(file.name) == ".toml" or file.name.lower() in self.names
        found = (_TOML if is_toml else _INI).finditer(text)
        headings = tuple(Heading(match.start(), 1, match["name"].strip()) for match in found if match["name"])
        yield code_document(file, text, "toml" if is_toml else "ini", headings)
