"""What is done to the documents of all formats: characters become those of queries, front matter leaves the text.

Front matter is YAML between `---` or TOML between `+++`.
"""

import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import PurePosixPath
from typing import Any

from cdesearch.words.characters import normal
from indexer.formats.encoding import without_surrogates
from indexer.formats.fields import bounded, fields_of
from indexer.formats.format import MAX_TITLE, Document

MAX_MATTER = 20_000  # characters
MOST_VALUES = 10_000  # that are looked at for texts
# What is searched and shown in a line at the start of the text, as are sentences. Other keys are only fields.
TEXTS = frozenset({
    "subtitle", "description", "summary", "alias", "aliases", "tag", "tags", "keywords", "categories", "author",
    "authors", "source",
})  # fmt: skip
SENTENCE = 4  # words at least
_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n(.*?)^(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"^([A-Za-z][\w-]*)[ \t]*[:=](.*(?:\n(?:[ \t-].*)?)*)", re.MULTILINE)
_OF_PROSE = re.compile(r"^(?![A-Za-z][\w-]*[ \t]*[:=]|[ \t#\[-]|$)", re.MULTILINE)  # a line that is in no front matter
_UNSPACED = re.compile(r"[\u2e80-\u9fff]")  # Chinese and Japanese have no spaces between words


def tidy(document: Document, problems: dict[str, str]) -> Document:
    """The document without front matter, with the characters of queries, and with a title and fields of bounded length.

    The fields that are cut are added to `problems`.
    """
    document = _without_front_matter(document)
    title = _clean(document.title)[:MAX_TITLE]
    headings = tuple(replace(one, title=_clean(one.title)) for one in document.headings)
    fields = bounded(document.fields, problems) if document.fields else ()
    tidied = replace(document, title=title, headings=headings, fields=fields)
    return tidied if _clean(document.text) == document.text else changed(tidied, _clean)


def changed(document: Document, change: Callable[[str], str]) -> Document:
    """The document after a change of the pieces between the places in its text, which keep their lines."""
    places = {one.offset for one in document.headings} | {one.offset for one in document.anchors} | {*document.pages}
    places |= {place for one in document.inlines for place in (one.offset, one.offset + len(one.words))}
    starts = sorted({0, *(offset for offset in places if offset > 0)})
    moved, pieces, size = {}, [], 0
    for start, end in pairwise([*starts, len(document.text)]):
        moved[start] = size
        pieces.append(change(document.text[start:end]))
        size += len(pieces[-1])
    return replace(
        document,
        text="".join(pieces),
        headings=tuple(replace(one, offset=moved.get(one.offset, one.offset)) for one in document.headings),
        anchors=tuple(replace(one, offset=moved.get(one.offset, one.offset)) for one in document.anchors),
        pages=tuple(moved[page] for page in document.pages),
        inlines=tuple(one._replace(offset=moved[one.offset], words=change(one.words)) for one in document.inlines),
    )


def _clean(text: str) -> str:
    return normal(without_surrogates(text))


def _without_front_matter(document: Document) -> Document:
    """The document with the texts of its front matter in one line, and with its title. Others stay as they are."""
    if document.layout == "code" or not document.has_lines or document.text[:3] not in ("---", "+++"):
        return document
    found = _MATTER.match(document.text, 0, MAX_MATTER)
    values = _values(found[1], found[2]) if found else {}
    if found is None or not values or document.anchors or document.pages:
        return document
    end, body = found.end(), document.text[found.end() :]
    title = next((_in_a_line(text) for name, text in values.items() if name.lower() == "title"), "")
    texts = [f"{name}: {', '.join(several)}" for name, several in _texts(values).items()]
    line = " - ".join(texts + ([] if body.strip() else [title]))
    headings = [one for one in document.headings if one.offset >= end]  # comments in YAML look like headings
    if not title and len(headings) < len(document.headings):
        title = headings[0].title if headings else PurePosixPath(document.path).name
    numbers = document.line_numbers or range(1, document.text.count("\n") + 2)
    return replace(
        document,
        title=title or document.title,
        text=f"{line}\n{body}",
        headings=tuple(replace(one, offset=one.offset + len(line) + 1 - end) for one in headings),
        fields=(*document.fields, *fields_of(values.items())),
        line_numbers=(numbers[0], *numbers[document.text.count("\n", 0, end) :]),
    )


def _values(mark: str, matter: str) -> dict[str, Any]:
    """The values by the names of their keys; empty if the text is something else between two rules."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        values = tomllib.loads(matter) if mark == "+++" else yaml.load(matter, loader)
    except (ValueError, RecursionError, yaml.YAMLError):  # such as a title with a colon
        found = [] if _OF_PROSE.search(matter) else _LINE.findall(matter)
        values = {name: " ".join(line.strip("\"' \t|>-") for line in value.split("\n")) for name, value in found}
    return {str(name): value for name, value in values.items()} if isinstance(values, dict) else {}


def _texts(values: dict[str, Any]) -> dict[str, list[str]]:
    """What is searched, each once, by the keys that name it, or else by the last ones."""
    found: dict[str, list[str]] = {}
    pairs = (pair for one in values.items() for pair in fields_of([one]))
    for path, value in islice(pairs, MOST_VALUES):  # repeated by reference, they have no end
        names, text = path.split("."), _in_a_line(value)
        name = next((one for one in names if one.lower() in TEXTS), "")
        n_words = sum(any(map(str.isalpha, word)) for word in text.split()) + len(_UNSPACED.findall(text))
        if not name and n_words >= SENTENCE and path.lower() != "title":
            name = names[-1]
        if name and text and text not in found.get(name, ()):
            found.setdefault(name, []).append(text)
    return found


def _in_a_line(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
