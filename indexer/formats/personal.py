"""Read calendars, contacts and the notes of Evernote: an event, a contact or a note is a record."""

import re
from collections.abc import Iterator
from dataclasses import replace
from quopri import decodestring

from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.html import to_markdown
from indexer.formats.markdown import converted_document
from indexer.formats.package import iterate_xml

RECORDS = {"VEVENT", "VTODO", "VJOURNAL", "VCARD", "VCALENDAR"}  # and no alarms and time zones
TITLES = ("SUMMARY", "FN", "X-WR-CALNAME", "N", "ORG", "EMAIL")  # the best first
# The properties that are read, and what is written before their value
LABELS = {
    "SUMMARY": "", "FN": "", "X-WR-CALNAME": "", "X-WR-CALDESC": "", "DESCRIPTION": "", "COMMENT": "", "NOTE": "",
    "DTSTART": "Start", "DTEND": "End", "DUE": "Due", "COMPLETED": "Completed", "STATUS": "Status", "URL": "URL",
    "LOCATION": "Location", "ORGANIZER": "Organizer", "ATTENDEE": "Attendee", "CONTACT": "Contact", "N": "Name",
    "CATEGORIES": "Categories", "RESOURCES": "Resources", "NICKNAME": "Nickname", "ORG": "Organization",
    "TITLE": "Title", "ROLE": "Role", "TEL": "Telephone", "EMAIL": "Email", "ADR": "Address", "LABEL": "Address",
    "BDAY": "Birthday", "ANNIVERSARY": "Anniversary", "IMPP": "Messages", "X-SOCIALPROFILE": "Profile",
    "RELATED": "Related", "X-ABRELATEDNAMES": "Related",
}  # fmt: skip

Property = tuple[int, str, str, str]  # the number of its line, its name, its parameters, its value

_PROPERTY = re.compile(r"(?s)(?:[\w-]{1,99}\.)?([\w-]{1,99})((?:;(?:[^:;\"]|\"[^\"]*\")*)*):(?:(?i:mailto):)?(.*)")
_NAMED = re.compile(r"(?i);CN=\"?([^\":;]*)")
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_ESCAPED = re.compile(r"\\(.)")
_PARTS = re.compile(r"(?<!\\);+")
_ATTACHED = re.compile(rb"<data\b[^<>]*>[^<]*</data>")


class Properties(Format):
    """Calendars and contacts, which have one syntax."""

    suffixes = frozenset({".ics", ".vcf"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        text = decode(file.stream.read())
        n_begun = text.upper().count("BEGIN:")
        if not n_begun:
            raise UnreadableError("neither a calendar nor contacts")
        begun: list[tuple[str, list[Property]]] = []
        n_records = 0
        for one in _properties(text + "\nEND:" * n_begun):  # the end of the file ends all
            if one[1] == "BEGIN":
                begun.append((one[3].strip().upper(), []))
            elif one[1] == "END" and begun:
                kind, properties = begun.pop()
                if kind in RECORDS and properties:
                    n_records += 1
                    yield _record(file, n_records, properties)
            elif begun and one[1] in LABELS:
                begun[-1][1].append(one)


def _properties(text: str) -> Iterator[Property]:
    """The properties, each of which may continue on further lines."""
    start, whole = 0, ""
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        if line[:1] in (" ", "\t"):
            whole += line[1:]
        elif whole.endswith("=") and "QUOTED-PRINTABLE" in whole.partition(":")[0].upper():
            whole = whole[:-1] + line
        else:
            if found := _PROPERTY.fullmatch(whole):
                yield start, found[1].upper(), found[2], found[3]
            start, whole = number, line


def _record(file: OpenFile, number: int, properties: list[Property]) -> Document:
    """The document of an event or a contact, with the lines of its properties."""
    said = [(line, name, _said(name, parameters, value)) for line, name, parameters, value in properties]
    titles = {name: " ".join(text.split()) for _, name, text in reversed(said)}
    title = next((titles[name] for name in TITLES if titles.get(name)), "")
    shown = [f"{LABELS[name]}: {text}" if LABELS[name] else text for _, name, text in said]
    lines = tuple(line for (line, *_), text in zip(said, shown, strict=True) for _ in text.split("\n"))
    return Document.of(file, title, "\n".join(shown), has_lines=True, line_numbers=lines, record=str(number))


def _said(name: str, parameters: str, value: str) -> str:
    """What a property says, for people."""
    if "QUOTED-PRINTABLE" in parameters.upper():
        value = decode(decodestring(value.encode("utf-8", "replace")))
    if time := _TIME.fullmatch(value):
        hour = f" {time[4]}:{time[5]}{' UTC' if time[6] else ''}" if time[4] else ""
        return f"{time[1]}-{time[2]}-{time[3]}{hour}"
    if name in ("N", "ADR", "ORG"):
        value = _PARTS.sub(", ", value).strip(", ")
    value = _ESCAPED.sub(lambda escaped: "\n" if escaped[1] in "nN" else escaped[1], value)
    named = _NAMED.search(parameters)
    return f"{named[1]} {value}" if named else value


class Evernote(Format):
    """Notes that Evernote has exported. Their attachments are listed but not read."""

    suffixes = frozenset({".enex"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        events = iterate_xml(_ATTACHED.sub(b"", file.stream.read()), "ENEX", "note")
        for number, note in enumerate((note for event, note in events if event == "end"), start=1):
            names = [name.text for name in note.iter("file-name") if name.text]
            for name in names:
                file.left_out.add(name, "of a note is not read", "attachment")
            tags = [tag.text for tag in note.iterfind("tag") if tag.text]
            listed = (f"{kind}: {', '.join(one)}" for kind, one in (("Tags", tags), ("Attachments", names)) if one)
            text = "\n\n".join(filter(None, (to_markdown(note.findtext("content") or "").text, *listed)))
            document = converted_document(file.path, " ".join((note.findtext("title") or "").split()), text)
            yield replace(document, id=f"{file.path}#{number}", record=str(number))
