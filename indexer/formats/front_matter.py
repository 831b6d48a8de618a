"""Take the front matter, which is YAML between `---` or TOML between `+++`, out of the text of a document."""

import re
import tomllib
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from indexer.formats.fields import fields_of
from indexer.formats.format import Document

MAX_MATTER = 20_000  # characters
# What is searched and shown in a line at the start of the text; other keys are only fields.
TEXTS = (
    "title",
    "subtitle",
    "description",
    "summary",
    "alias",
    "aliases",
    "tag",
    "tags",
    "keywords",
    "categories",
    "author",
    "authors",
    "source",
)
_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n(.*?)^(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"^([A-Za-z][\w-]*)[ \t]*[:=][ \t]*(.*)$", re.MULTILINE)


def without_front_matter(document: Document) -> Document:
    """The document with the texts of its front matter in one line, and with its title. Others stay as they are."""
    if document.layout == "code" or not document.has_lines or document.text[:3] not in ("---", "+++"):
        return document
    found = _MATTER.match(document.text, 0, MAX_MATTER)
    values = _values(found[1], found[2]) if found else {}
    if found is None or not values or document.anchors or document.pages:
        return document
    end, body = found.end(), document.text[found.end() :]
    texts = {name: text for name in TEXTS if (text := _text(values.get(name)))}
    title = texts.pop("title", "")
    line = " - ".join([f"{name}: {text}" for name, text in texts.items()] + ([] if body.strip() else [title]))
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
    """The values by the names of their keys in lower case; empty if the text is something else between two rules."""
    try:
        values = tomllib.loads(matter) if mark == "+++" else _yaml(matter)
    except (ValueError, RecursionError):  # such as a title with a colon
        values = {name: value.strip("\"' \t") for name, value in _LINE.findall(matter)}
    return {str(name).lower(): value for name, value in values.items()} if isinstance(values, dict) else {}


def _yaml(matter: str) -> Any:
    import yaml

    try:
        return yaml.load(matter, getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except yaml.YAMLError:
        raise ValueError from None


def _text(value: Any) -> str:
    """A text, or the texts of a list, in one line; "" for anything else."""
    values = value if isinstance(value, list) else [value]
    return ", ".join(" ".join(one.split()) for one in values if isinstance(one, str) and one.strip())
