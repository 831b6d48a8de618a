"""Read YAML, TOML, INI and its relatives: the text as it is, with keys or the names of sections as headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from indexer.formats.code import code_document
from indexer.formats.encoding import decode
from indexer.formats.format import MAX_TITLE, Document, Format, Heading, OpenFile, suffix_of
from indexer.formats.json_file import MAX_NAME, NAMES
from indexer.formats.outline import SHOWN_DEPTH, check_depth

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
        headings = tuple(
            Heading(text.index("[", match.start()), 1, match["name"].strip()) for match in found if match["name"]
        )
        yield code_document(file, text, "toml" if is_toml else "ini", headings)


class YamlFile(Format):
    """YAML. Aliases are not followed, and text that is not YAML, such as a template, has no trail from there on."""

    suffixes = frozenset({".yaml", ".yml"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        text = decode(file.stream.read())
        yield code_document(file, text, "yaml", tuple(_headings(text)))


@dataclass(slots=True)
class _Collection:
    """A mapping or list that is open."""

    is_mapping: bool
    heading: int | None = None  # the number of the heading that a member may name
    rank: int = len(NAMES)
    key: Any = None  # the event of the key that awaits its value
    count: int = 0  # of values


def _headings(text: str) -> list[Heading]:
    """A heading for each key whose value is a mapping or a list, and for each item of a list of mappings."""
    import yaml

    headings: list[Heading] = []
    opened: list[_Collection] = []
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, yaml.CollectionEndEvent):
                opened.pop()
            elif isinstance(event, yaml.CollectionStartEvent):
                check_depth(len(opened), "YAML")
                begun = _Collection(isinstance(event, yaml.MappingStartEvent))
                if opened:
                    _take(event, opened[-1], headings, begun, len(opened))
                opened.append(begun)
            elif opened and isinstance(event, (yaml.ScalarEvent, yaml.AliasEvent)):
                _take(event, opened[-1], headings)
    except yaml.YAMLError:  # the headings before the error are kept
        pass
    return headings


def _take(
    event: Any, around: _Collection, headings: list[Heading], begun: _Collection | None = None, level: int = 0
) -> None:
    """Use a key, a scalar, or the start of the collection `begun`, which may get a heading of this level."""
    if around.is_mapping and around.key is None:
        around.key = event
        return
    key, around.key = around.key, None
    name = " ".join(str(getattr(key, "value", "?")).split())
    if begun is not None and level <= SHOWN_DEPTH and (around.is_mapping or begun.is_mapping):
        start = key if around.is_mapping else event
        begun.heading = None if around.is_mapping else len(headings)
        title = name if around.is_mapping else f"[{around.count}]"
        headings.append(Heading(start.start_mark.index, level, title[:MAX_TITLE]))
    elif begun is None and around.heading is not None:
        value = " ".join(str(getattr(event, "value", "")).split())[:MAX_NAME]
        rank = NAMES.get(name.lower(), around.rank)
        if value and rank < around.rank:
            headings[around.heading] = replace(headings[around.heading], title=value)
            around.rank = rank
    around.count += 1
