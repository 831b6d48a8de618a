"""Convert PDF to text, page by page: columns in reading order, without headers and footers, with headings.

Comments and form fields are read too, and the files that are embedded.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from ctypes import POINTER, byref, c_float, c_ushort, cast, create_string_buffer
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

from cdesearch.store.schema import EDGE, Inline
from indexer.formats.format import Document, Format, Heading, OpenFile, UnreadableError, documents_inside
from indexer.formats.pdf_headings import LARGE, Found, Outline, found_headings, levelled, outline_of, rounded
from indexer.formats.pdf_layout import COMPOUND, joined, rows_of, text_of, without_repeated
from indexer.formats.pdf_segments import Segment, segments_of

MAX_PAGES = 50_000  # a forged file may claim any number
WINDOW = 200  # pages that are compared with each other to find headers and footers
# What programs write for a title that they do not know
PLACEHOLDERS = ("(anonymous)", "(unspecified)", "about:blank", "untitled")
SCAN_DPI = 150  # dots per inch
PROPERTIES = {key: key for key in ("Title", "Author", "Subject", "Keywords")} | {"CreationDate": "created"}


class _Page(NamedTuple):
    segments: list[Segment]
    notes: list[str]
    scan: tuple[float, float] | None = None  # the width and height in points of a page whose text is recognised


class Pdf(Format):
    """PDF with text; a scanned PDF is unreadable. A page that is broken has no text."""

    suffixes = frozenset({".pdf"})

    def __init__(self, find_format: Callable[[str], Format | None]) -> None:
        """Read embedded files of the formats that are found by their names."""
        self._find_format = find_format

    def read(self, file: OpenFile) -> Iterator[Document]:
        import pypdfium2

        logging.getLogger("pypdfium2").setLevel(logging.ERROR)  # it warns of forms in XFA
        try:
            pdf = pypdfium2.PdfDocument(file.stream.read())
        except pypdfium2.PdfiumError as error:
            encrypted = "password" in str(error).lower()
            raise UnreadableError("encrypted PDF" if encrypted else "broken PDF") from None
        try:
            pdf.init_forms()
            text = _Text(outline_of(pdf))
            pages = _pages(pdf, file)
            while window := list(islice(pages, WINDOW)):
                text.add(window)
            found = pdf.get_metadata_dict()
            title = str(found.get("Title") or "").strip()
            file.fields.extend((name, str(found.get(key) or "")) for key, name in PROPERTIES.items())
            embedded = list(files_in(pdf, file, self._find_format))
        except pypdfium2.PdfiumError:
            raise UnreadableError("broken PDF") from None
        finally:
            pdf.close()
        if any(part.strip() for part in text.parts):
            yield text.document(file, "" if title.lower() in PLACEHOLDERS else title)
        elif not embedded:
            offer = "" if file.has_ocr else "; `cdesearch index --ocr` reads scanned pages"
            raise UnreadableError(f"PDF without text{offer}")
        yield from embedded


@dataclass(slots=True)
class _Text:
    """The text of the pages so far."""

    outline: Outline
    parts: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)  # of the pages
    size: int = 0  # in characters
    headings: list[Found] = field(default_factory=list)
    compounds: set[str] = field(default_factory=set)  # words with a hyphen within a line
    sizes: Counter[float] = field(default_factory=Counter)  # characters in each font size
    lines: list[Inline] = field(default_factory=list)  # of scanned pages
    last: Segment | None = None  # the row at the end of `parts`, unless it is a heading

    def add(self, pages: Sequence[_Page]) -> None:
        """Add neighbouring pages."""
        for page in pages:
            for segment in page.segments:
                self.sizes[rounded(segment.size)] += len(segment.text)
                if "-" in segment.text:
                    self.compounds.update(word.lower() for word in COMPOUND.findall(segment.text))
        body_size = max(self.sizes, key=lambda size: (self.sizes[size], size), default=0.0)
        cleaned = without_repeated([page.segments for page in pages], LARGE * body_size)
        for page, segments in zip(pages, cleaned, strict=True):
            if page.scan is not None:
                self.last = None  # the places of recognised lines are counted from the begin of their page
            n_parts = len(self.parts)
            self._add_rows(segments, body_size)
            if page.scan is not None:
                self._add_lines(segments, *page.scan, "".join(self.parts[n_parts:]).lstrip("\n"))
            for note in page.notes:
                self._put(f"\n\n{note}")
                self.last = None

    def document(self, file: OpenFile, title: str) -> Document:
        """The whole text, with the largest heading of the first page as its title if it has none."""
        headings = levelled(self.headings)
        end = self.starts[1] if len(self.starts) > 1 else self.size
        on_first_page = [heading for heading in headings if heading.offset < end]
        title = title or min(on_first_page, key=lambda heading: heading.level, default=Heading(0, 1, file.name)).title
        return Document.of(
            file,
            title,
            "".join(self.parts),
            headings=headings,
            pages=tuple(self.starts),
            inlines=tuple(sorted(self.lines, key=attrgetter("offset"))),
        )

    def _add_rows(self, segments: Sequence[Segment], body_size: float) -> None:
        """Add the rows of a page, which begins after the sentence that continues from the page before it."""
        blocks = [*found_headings(rows_of(segments), body_size, self.outline, len(self.starts))]
        last, whole = self.last, None
        if last is not None and blocks and blocks[0][1] is None:
            whole = joined(last, blocks[0][0], self.compounds)
        if last is not None and whole is not None:
            self.parts[-1] = self.parts[-1][: -len(last.text)]
            self.size -= len(last.text)
            self.starts.append(self.size + whole[1])
        else:
            self._put("\n\n" * bool(self.starts))
            self.starts.append(self.size)
        if not blocks:
            self.last = None
        for number, (rows, found) in enumerate(blocks):
            if number:
                self._put("\n\n")
            shown = whole[0] if whole and not number else text_of(rows, self.compounds)
            if found is not None:
                shown = " ".join(shown.split())
                self.headings.append(found._replace(offset=self.size, title=shown))
            self._put(shown)
            self.last = rows[-1] if found is None else None

    def _add_lines(self, segments: Sequence[Segment], width: float, height: float, text: str) -> None:
        """Add where the recognised lines of the last page are on it; `text` is that of the page."""
        ends = Counter[str]()  # of the last line with the same words
        for segment in segments:
            words = segment.text.removesuffix("-")
            start = text.find(words, ends[words])
            if words and start >= 0:
                ends[words] = start + len(words)
                x, y = (segment.left, segment.right), (segment.y + segment.size, segment.y)
                edges = [part for left, top in zip(x, y, strict=True) for part in (left / width, 1 - top / height)]
                places = (min(EDGE, max(0, round(EDGE * edge))) for edge in edges)
                self.lines.append(Inline(self.starts[-1] + start, words, "line", "", (len(self.starts), *places)))

    def _put(self, text: str) -> None:
        self.parts.append(text)
        self.size += len(text)


def _pages(pdf: Any, file: OpenFile) -> Iterator[_Page]:
    import pypdfium2

    if len(pdf) > MAX_PAGES:
        raise UnreadableError(f"PDF of more than {MAX_PAGES:,} pages")
    direction = create_string_buffer(8)
    pypdfium2.raw.FPDF_VIEWERREF_GetName(pdf.raw, b"Direction", direction, len(direction))
    n_broken = 0
    for number in range(len(pdf)):
        try:
            yield _page(pdf, number, file, is_reversed=direction.value == b"R2L")
        except pypdfium2.PdfiumError:
            n_broken += 1
            yield _Page([], [])
    if n_broken == len(pdf):
        raise UnreadableError("broken PDF")


def _page(pdf: Any, number: int, file: OpenFile, *, is_reversed: bool) -> _Page:
    import pypdfium2

    page, scan = pdf[number], None
    try:
        notes, has_others = notes_of(pdf, page, number, file)
        if has_others:  # what they show becomes text of the page
            pypdfium2.raw.FPDFPage_Flatten(page.raw, pypdfium2.raw.FLAT_NORMALDISPLAY)
            page.close()
            page = pdf[number]
        rotation = page.get_rotation()
        page.set_rotation(0)  # else pdfium mixes the lines
        segments = segments_of(page, is_reversed=is_reversed, is_turned=rotation % 180 != 0)
        if file.has_ocr and not segments and any(True for _ in page.get_objects(max_depth=1)):
            page.set_rotation(rotation)
            segments, scan = _recognised(page, file), page.get_size()
    finally:
        page.close()
    shown = "".join("".join(segment.text.split()) for segment in segments) if notes else ""
    return _Page(segments, [note for note in notes if "".join(note.split()) not in shown], scan)


def _recognised(page: Any, file: OpenFile) -> list[Segment]:
    """The recognised text of a page that has no text of its own."""
    import numpy as np

    from indexer.formats.ocr import MAX_PIXELS, recognise

    file.progress()
    width, height = page.get_size()
    scale = min(SCAN_DPI / 72, (MAX_PIXELS / max(1.0, width * height)) ** 0.5)
    return recognise(np.ascontiguousarray(page.render(scale=scale).to_numpy()[:, :, :3]), 1 / scale)


MAX_NOTES = 2_000  # of a page
MAX_FILES = 100
PASSWORD = 1 << 13  # the flag of a field whose value is not shown


def notes_of(pdf: Any, page: Any, number: int, file: OpenFile) -> tuple[list[str], bool]:
    """The values of the fields and the comments of a page, and whether it has others, whose text is only drawn.

    Those of page `number`, from 0, that are too many are left out of `file` and counted. They and passwords are removed
    from the page, because their text would be drawn with that of the others.
    """
    from pypdfium2 import raw

    form = pdf.formenv.raw if pdf.formenv else None
    notes, has_others, removed = [], False, list[int]()
    count = raw.FPDFPage_GetAnnotCount(page.raw)
    if count > MAX_NOTES:
        file.left_out.add(f"page {number + 1}", f"has {count - MAX_NOTES:,} more than {MAX_NOTES:,} notes", "part")
    for index in range(min(MAX_NOTES, count)):
        note = raw.FPDFPage_GetAnnot(page.raw, index)
        kind = raw.FPDFAnnot_GetSubtype(note)
        if raw.FPDFAnnot_GetFlags(note) & raw.FPDF_ANNOT_FLAG_HIDDEN or kind == raw.FPDF_ANNOT_LINK:
            pass
        elif kind == raw.FPDF_ANNOT_WIDGET and _is_password(form, note):
            removed.append(index)
        elif kind == raw.FPDF_ANNOT_WIDGET and form is not None:
            notes.append(_value(form, note))
        else:
            notes.append(_string(raw.FPDFAnnot_GetStringValue, note, b"Contents"))
            has_others |= kind in (raw.FPDF_ANNOT_STAMP, raw.FPDF_ANNOT_WIDGET)
        raw.FPDFPage_CloseAnnot(note)
    for index in reversed([*removed, *range(MAX_NOTES, count)]):
        raw.FPDFPage_RemoveAnnot(page.raw, index)
    return [note for note in dict.fromkeys(notes) if note], has_others


def _is_password(form: Any, field: Any) -> bool:
    """Whether the value of a field is not shown; only text fields have this flag."""
    from pypdfium2 import raw

    flags = c_float()
    raw.FPDFAnnot_GetNumberValue(field, b"Ff", byref(flags))
    inherited = 0 if form is None else raw.FPDFAnnot_GetFormFieldFlags(form, field)
    return bool((int(flags.value) | inherited) & PASSWORD)


def _value(form: Any, field: Any) -> str:
    """What was typed into a field, or the choices in it; "" for a button."""
    from pypdfium2 import raw

    kind = raw.FPDFAnnot_GetFormFieldType(form, field)
    if kind in (raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
        options = range(min(MAX_NOTES, raw.FPDFAnnot_GetOptionCount(form, field)))
        chosen = [option for option in options if raw.FPDFAnnot_IsOptionSelected(form, field, option)]
        if chosen:
            return ", ".join(_string(raw.FPDFAnnot_GetOptionLabel, form, field, option) for option in chosen)
    elif kind != raw.FPDF_FORMFIELD_TEXTFIELD:
        return ""
    return _string(raw.FPDFAnnot_GetFormFieldValue, form, field)


def _string(read: Callable[..., int], *arguments: Any) -> str:
    """The string that a function of pdfium writes into a buffer, whose size it returns if there is none."""
    buffer = create_string_buffer(read(*arguments, None, 0) + 2)
    size = read(*arguments, cast(buffer, POINTER(c_ushort)), len(buffer))
    text = buffer.raw[: max(0, size - 2)].decode("utf-16-le", "replace")
    return "\n".join(text.replace("\0", "").splitlines()).strip()


def files_in(pdf: Any, file: OpenFile, find_format: Callable[[str], Format | None]) -> Iterator[Document]:
    """The documents in the files that are embedded in a PDF."""
    count = pdf.count_attachments()
    if count > MAX_FILES:
        file.left_out.add("embedded files", f"are {count - MAX_FILES:,} more than {MAX_FILES}", "part")
    for number in range(min(MAX_FILES, count)):
        try:
            attachment = pdf.get_attachment(number)
            name = attachment.get_name().replace("\\", "/").rpartition("/")[2]
        except Exception as error:  # pdfium and the name may raise many; only this part is lost
            file.left_out.add(str(number), f"cannot be read: {error}", "part")
            continue
        if (found := find_format(name)) is not None:
            yield from documents_inside(file, name, attachment.get_data, found.read)
