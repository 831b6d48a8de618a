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
    heading: int | None = None  # the number of its heading
    is_item: bool = False  # whether it is an item of a list, whose heading may be the value of a member
    rank: int = len(NAMES)
    key: Any = None  # the event of the key that awaits its value
    count: int = 0


def _headings(text: str) -> list[Heading]:
    """A heading for each key whose value is a mapping or a list, and for each item of a list of mappings."""
    import yaml

    headings: list[Heading] = []
    opened: list[_Collection] = []
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, yaml.CollectionStartEvent):
                check_depth(len(opened), "YAML")
                opened.append(_begun(event, opened, headings, is_mapping=isinstance(event, yaml.MappingStartEvent)))
            elif isinstance(event, yaml.CollectionEndEvent):
                opened.pop()
            elif opened and isinstance(event, (yaml.ScalarEvent, yaml.AliasEvent)):
                _take_scalar(event, opened[-1], headings)
    except yaml.YAMLError:  # the headings before the error are kept
        pass
    return headings


def _begun(event: Any, opened: list[_Collection], headings: list[Heading], *, is_mapping: bool) -> _Collection:
    """The collection that starts, whose heading begins at its key."""
    if not opened:
        return _Collection(is_mapping)
    around = opened[-1]
    if around.is_mapping and around.key is None:  # a collection as a key, which is hardly ever used
        around.key = event
        return _Collection(is_mapping)
    is_item = not around.is_mapping
    title = f"[{around.count}]" if is_item else str(getattr(around.key, "value", "?"))
    start = event.start_mark.index if is_item else around.key.start_mark.index
    around.key = None
    around.count += 1
    if len(opened) > SHOWN_DEPTH or (is_item and not is_mapping):
        return _Collection(is_mapping, None, is_item)
    headings.append(Heading(start, len(opened), " ".join(title.split())[:MAX_TITLE]))
    return _Collection(is_mapping, len(headings) - 1, is_item)


def _take_scalar(event: Any, around: _Collection, headings: list[Heading]) -> None:
    """Use a scalar as a key, as the name of an item, or not at all."""
    if not around.is_mapping:
        around.count += 1
    elif around.key is None:
        around.key = event
    else:
        key, around.key = str(getattr(around.key, "value", "")), None
        value = " ".join(str(getattr(event, "value", "")).split())[:MAX_NAME]
        rank = NAMES.get(key.lower(), around.rank)
        if around.is_item and around.heading is not None and value and rank < around.rank:
            headings[around.heading] = replace(headings[around.heading], title=value)
            around.rank = rank
