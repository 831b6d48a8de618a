"""Convert Word documents to Markdown."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from indexer.formats.format import Document, Format, OpenFile, documents_inside, suffix_of
from indexer.formats.html import Html
from indexer.formats.mail import Mail
from indexer.formats.markdown import converted_document, table_of
from indexer.formats.package import (
    Package,
    alternative_text,
    attribute,
    local_name,
    main_part,
    number_in,
    relations,
    texts_beside,
    title_of,
)
from indexer.formats.rtf import Rtf

KIND = "DOCX"
NOTES = {"footnote": "", "endnote": "", "comment": "Comment: "}  # and what is written before each
MARGINS = ("header", "footer")
# What is read after the paragraph or table in which it stands: notes, boxes, and alternative texts of pictures
ANCHORED = ["{*}txbxContent", "{*}docPr", "{*}shape", *(f"{{*}}{name}Reference" for name in NOTES)]
SIGNS = {"tab": "\t", "ptab": "\t", "cr": "\n", "noBreakHyphen": "-"}
# Deleted and moved text, the guide to a pronunciation, and the copy of a drawing for old programs
LEFT_OUT = {"del", "moveFrom", "rt", "Fallback", "pPr", "rPr", "sectPr"}
# Parts that Word shows as if their text stood in the document; programs write pages of HTML so
IMPORTED: dict[str, Format] = {".mht": Mail(lambda _: None), ".html": Html(), ".htm": Html(), ".rtf": Rtf()}

ONES = ["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"]
ROMAN = [[one.translate(str.maketrans("ivx", letters)) for one in ONES] for letters in ("cdm", "xlc", "ivx")]
_LEVEL = re.compile(r"%([1-9])")

Notes = dict[tuple[str, str], str]  # the texts of footnotes, endnotes and comments by their kind and id


class Docx(Format):
    """Word documents in Office Open XML.

    A note, comment or text box follows its paragraph. Headers, footers and charts are read once, at the end.
    """

    suffixes = frozenset({".docx", ".docm", ".dotx", ".dotm"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        package = Package(file.stream.read(), KIND)
        part = main_part(package)
        body = package.xml(part).find("{*}body")
        if body is None:
            raise package.broken()
        targets = relations(package, part).values()
        styled = _part(package, targets, "styles")
        _write_numbers(body, _part(package, targets, "numbering"), styled)
        styles = _styles(styled)
        notes = _notes(package, targets)
        texts = list(_texts(body, styles, notes))
        margins = [package.xml(name) for kind, name in targets if kind in MARGINS and name in package.names]
        texts += dict.fromkeys(text for margin in margins for text in _texts(margin, styles, notes))
        texts += (text for (kind, _), text in notes.items() if kind == "comment")  # to which no sign in the text refers
        texts += texts_beside(package, targets)
        for kind, name in targets:
            if kind == "aFChunk" and (found := IMPORTED.get(suffix_of(name))):
                documents = documents_inside(file, name, partial(package.read, name), found.read)
                texts += (document.text for document in documents)
        yield converted_document(file.path, title_of(package, "docProps/core.xml", file), "\n\n".join(texts))


def _texts(parent: Any, styles: Mapping[str, str], notes: Notes) -> Iterator[str]:
    """The Markdown of each paragraph and table, and of what is anchored in it. Notes are removed from `notes`."""
    for hidden in [*parent.iter("{*}vanish")]:
        run = hidden.getparent().getparent()
        if attribute(hidden, "val", "1") not in ("0", "false", "off") and local_name(run) == "r":
            run.getparent().remove(run)
    for frame in [*parent.iter("{*}framePr")]:  # an initial in a frame of its own begins the next paragraph
        initial = frame.getparent().getparent()
        following = initial.getnext()
        if attribute(frame, "dropCap") in ("drop", "margin") and following is not None and local_name(following) == "p":
            following[:0] = [one for one in initial if local_name(one) != "pPr"]
    for block in _blocks(parent, "p", "tbl"):
        if local_name(block) == "tbl":
            texts = [table_of(_rows(block))]
        else:
            level = _level(block, styles)
            texts = [f"{'#' * level} {_text(block)}" if level else _text(block)]
        for one in block.iter(*ANCHORED):
            if any(local_name(above) in LEFT_OUT for above in one.iterancestors()):
                continue
            name = local_name(one)
            if name == "txbxContent":
                texts.append(_cell(one))
            elif name.endswith("Reference"):
                texts.append(notes.pop((name.removesuffix("Reference"), attribute(one, "id")), ""))
            else:
                texts.append(alternative_text(*(attribute(one, name) for name in ("title", "descr", "alt"))))
        yield from (text for text in texts if text.strip())


def _text(paragraph: Any) -> str:
    """The text of a paragraph without that of boxes in it."""
    parts: list[str] = []
    waiting = list(reversed(paragraph))
    while waiting:
        element = waiting.pop()
        name = local_name(element)
        if name == "t":
            parts.append(element.text or "")
        elif name == "br":
            parts.append("\n" if attribute(element, "type", "textWrapping") == "textWrapping" else "")
        elif name in SIGNS:
            parts.append(SIGNS[name])
        elif name not in LEFT_OUT and name != "txbxContent":
            waiting += reversed(element)
    return "".join(parts)


def _styles(styles: Any) -> dict[str, str]:
    """The names of styles by their ids."""
    names = ((attribute(one, "styleId"), one.find("{*}name")) for one in styles)
    return {style: attribute(name, "val") for style, name in names if name is not None}


def _part(package: Package, targets: Any, kind: str) -> Any:
    """The root of the part of this kind; an empty list if there is none."""
    part = next((target for one, target in targets if one == kind), "")
    return package.xml(part) if part in package.names else []


def _write_numbers(body: Any, numbering: Any, styles: Any) -> None:
    """Write the numbers of clauses, headings and lists, which Word counts itself, at the start of their paragraphs."""
    lists = {attribute(one, "numId"): _value(one, "abstractNumId") for one in numbering}
    restarting = {
        attribute(one, "numId") for one in numbering if one.find("{*}lvlOverride/{*}startOverride") is not None
    }
    levels = {
        (attribute(one, "abstractNumId"), attribute(level, "ilvl")): level
        for one in numbering
        for level in one.iterfind("{*}lvl")
        if attribute(level, "ilvl") in set("012345678")
    }
    styled = {attribute(one, "styleId"): one.find("{*}pPr/{*}numPr") for one in styles}
    for one in styles:  # a style has the numbers of the style on which it is based
        name, base = attribute(one, "styleId"), _value(one, "basedOn")
        styled[name] = styled[name] if styled[name] is not None else styled.get(base)
    counts: dict[str, dict[str, int]] = {}  # by list and level
    for properties in body.iter("{*}pPr") if levels else ():
        own, inherited = properties.iterchildren("{*}numPr"), styled.get(_value(properties, "pStyle"))
        both = [*own] if inherited is None else [*own, inherited]
        if not both:
            continue
        number, depth = (next(filter(None, (_value(one, name) for one in both)), "") for name in ("numId", "ilvl"))
        found, depth = lists.get(number, ""), depth or "0"
        paragraph, level = properties.getparent(), levels.get((found, depth))
        if level is None or local_name(paragraph) != "p":
            continue
        if number in restarting:
            restarting.remove(number)
            counts.pop(found, None)
        above = {one: count for one, count in counts.get(found, {}).items() if one <= depth}
        counts[found] = above | {depth: above.get(depth, number_in(_value(level, "start"), 1) - 1) + 1}
        if _value(level, "numFmt") != "bullet" and any((text.text or "").strip() for text in paragraph.iter("{*}t")):
            shown = partial(_counted, levels, counts[found], found)
            paragraph.insert(0, paragraph.makeelement("t"))
            paragraph[0].text = f"{_LEVEL.sub(shown, _value(level, 'lvlText'))} ".lstrip()


def _counted(levels: Mapping[tuple[str, str], Any], counts: Mapping[str, int], found: str, sign: re.Match[str]) -> str:
    """The number of a level of a list, for which a sign stands, as a number, letter or Roman number."""
    depth = str(int(sign[1]) - 1)
    if (found, depth) not in levels:
        return ""
    kind, count = _value(levels[found, depth], "numFmt"), counts.get(depth, 1)
    shown = str(count)
    if kind.endswith("Letter"):
        shown = chr(ord("a") + (count - 1) % 26) * min(9, 1 + (count - 1) // 26)
    elif kind.endswith("Roman"):
        shown = "".join(ROMAN[n][int(digit)] for n, digit in enumerate(f"{count % 1000:03}"))
    return shown.upper() if kind.startswith("upper") else shown


def _value(parent: Any, name: str) -> str:
    """The value of the first child of this name; "" if there is none."""
    return next((attribute(child, "val") for child in parent.iterchildren(f"{{*}}{name}")), "")


def _notes(package: Package, targets: Any) -> Notes:
    found = {}
    for kind, part in targets:
        name = kind.removesuffix("s")
        if name in NOTES and part in package.names:
            for note in package.xml(part).iter(f"{{*}}{name}"):
                lines = (_text(one) for one in note.iter("{*}p"))
                text = "\n".join(line for line in lines if line.strip()).strip()
                found[name, attribute(note, "id")] = text and NOTES[name] + text
    return found


def _level(paragraph: Any, styles: Mapping[str, str]) -> int:
    """The level of a heading, 0 for other paragraphs."""
    style = paragraph.find("{*}pPr/{*}pStyle")
    name = styles.get(attribute(style, "val"), "").lower() if style is not None else ""
    digits = "1" if name == "title" else name.removeprefix("heading ")
    return int(digits) if len(digits) == 1 and digits in "123456789" else 0


def _blocks(parent: Any, *names: str) -> Iterator[Any]:
    """Elements of these names in order, also those inside content controls and other wrappers."""
    for element in parent:
        if local_name(element) in names:
            yield element
        elif local_name(element) not in LEFT_OUT:
            yield from _blocks(element, *names)


def _rows(table: Any) -> Iterator[list[str]]:
    """The text of a table's cells. A cell that spans columns is written once; one that spans rows, in each of them."""
    above: dict[int, str] = {}
    for row in _blocks(table, "tr"):
        column, texts, below = 0, [], {}
        for cell in _blocks(row, "tc"):
            span, merge = cell.find("{*}tcPr/{*}gridSpan"), cell.find("{*}tcPr/{*}vMerge")
            is_continued = merge is not None and attribute(merge, "val", "continue") == "continue"
            text = above.get(column, "") if is_continued else _cell(cell)
            if merge is not None:
                below[column] = text
            texts.append(text)
            width = attribute(span, "val", "1") if span is not None else "1"
            column += int(width) if width.isdecimal() and len(width) < 10 else 1
        above = below
        yield texts


def _cell(cell: Any) -> str:
    """The text of a cell, with tables inside it row by row."""
    lines = []
    for block in _blocks(cell, "p", "tbl"):
        lines += [" | ".join(row) for row in _rows(block)] if local_name(block) == "tbl" else [_text(block)]
    return "\n".join(lines)
