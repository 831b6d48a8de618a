"""Read what people add to the pages of a PDF: values of form fields, comments, and files."""

from collections.abc import Callable, Iterator
from ctypes import POINTER, byref, c_float, c_ushort, cast, create_string_buffer
from typing import Any

from indexer.formats.format import Document, Format, OpenFile, documents_inside

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
