"""Read calendars, contacts and the notes of Evernote: an event, a contact or a note is a record."""

import re
from collections.abc import Iterator
from dataclasses import replace
from quopri import decodestring

from indexer.formats.encoding import decode
from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.html import opened, to_markdown
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

_PROPERTY = re.compile(r"(?:[\w-]{1,99}\.)?([\w-]{1,99})((?:;(?:[^:;\"]|\"[^\"]*\")*)*):(.*)", re.DOTALL)
_NAMED = re.compile(r";CN=\"?([^\":;]*)", re.IGNORECASE)
_PLACE = re.compile(r"\b(home|work|cell|mobile|fax)\b", re.IGNORECASE)
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_ESCAPED = re.compile(r"\\(.)")
_PARTS = re.compile(r"(?<!\\);+")
_ATTACHED = re.compile(rb"<data\b[^<>]*>[^<]*</data>")


class Properties(Format):
    """Calendars and contacts, which have one syntax."""

    suffixes = frozenset({".ics", ".ical", ".vcf", ".vcard"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        properties = [*_properties(decode(file.stream.read()))]
        n_begun = sum(name == "BEGIN" for _, name, _, _ in properties)
        if not n_begun:
            raise UnreadableError("neither a calendar nor contacts")
        begun: list[tuple[str, list[Property]]] = []
        n_records = 0
        for one in (*properties, *[(0, "END", "", "")] * n_begun):  # the end of the file ends all
            if one[1] == "BEGIN":
                begun.append((one[3].strip().upper(), []))
            elif one[1] == "END" and begun:
                kind, read = begun.pop()
                if kind in RECORDS and read:
                    n_records += 1
                    yield _record(file, n_records, read)
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
    lines, numbers = list[str](), list[int]()
    titles = {}
    for line, name, parameters, value in properties:
        said = _said(name, parameters, value)
        titles.setdefault(name, " ".join(said.split()))
        places = ", ".join(dict.fromkeys(map(str.lower, _PLACE.findall(parameters))))
        label = LABELS[name] + (f" ({places})" if places else "")
        new = (f"{label}: {said}" if label else said).split("\n")
        lines += new
        numbers += [line] * len(new)
    title = next((titles[name] for name in TITLES if titles.get(name)), file.name)
    identity, text, record = f"{file.path}#{number}", "\n".join(lines), str(number)
    return Document(
        identity, file.path, title, text, "text", has_lines=True, line_numbers=tuple(numbers), record=record
    )


def _said(name: str, parameters: str, value: str) -> str:
    """What a property says, for people."""
    if "QUOTED-PRINTABLE" in parameters.upper():
        value = decode(decodestring(value.encode("utf-8", "replace")))
    if time := _TIME.fullmatch(value):
        day, hour = "-".join(time.groups()[:3]), f" {time[4]}:{time[5]}" if time[4] else ""
        return day + hour + (" UTC" if time[6] else "")
    if name in ("N", "ADR", "ORG"):
        value = _PARTS.sub(", ", value).strip(", ")
    value = _ESCAPED.sub(lambda escaped: "\n" if escaped[1] in "nN" else escaped[1], value)
    named = _NAMED.search(parameters)
    return f"{named[1] if named else ''} {value.removeprefix('mailto:').removeprefix('MAILTO:')}".strip()


class Evernote(Format):
    """Notes that Evernote has exported. Their attachments are listed but not read."""

    suffixes = frozenset({".enex"})

    def read(self, file: OpenFile) -> Iterator[Document]:
        notes = iterate_xml(_ATTACHED.sub(b"", file.stream.read()), "ENEX", "note")
        for number, (_, note) in enumerate((one for one in notes if one[0] == "end"), start=1):
            page = to_markdown(opened(note.findtext("content") or ""))
            names = [name.text for name in note.iter("file-name") if name.text]
            for name in names:
                file.left_out.add(name, "of a note is not read", "attachment")
            tags = [tag.text for tag in note.iterfind("tag") if tag.text]
            rest = (f"{kind}: {', '.join(found)}" for kind, found in (("Tags", tags), ("Attachments", names)) if found)
            text = "\n\n".join(filter(None, (page.text, *rest)))
            document = converted_document(file.path, " ".join((note.findtext("title") or "").split()), text)
            yield replace(document, id=f"{file.path}#{number}", record=str(number))
