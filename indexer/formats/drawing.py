"""The texts of shapes, charts and diagrams, which Office stores alike in all of its documents."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from indexer.formats.package import Package, attribute, local_name

_FILE_NAME = re.compile(r"\.(?:bmp|emf|gif|jpe?g|png|tiff?|wmf)$", re.IGNORECASE)


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
