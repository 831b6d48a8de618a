"""Read documents of Word and PowerPoint 97 to 2003: streams of bytes in a compound file."""

import io
import re
from collections.abc import Iterable, Iterator
from struct import unpack_from
from typing import Any, ClassVar

from indexer.formats.code import PlainText
from indexer.formats.docx import Docx
from indexer.formats.format import Document, Format, OpenFile, UnreadableError
from indexer.formats.html import Html
from indexer.formats.markdown import converted_document, without_headings
from indexer.formats.package import OLE
from indexer.formats.pptx import Pptx, Slide, slides_document
from indexer.formats.rtf import START, Rtf

STORIES = 0x4C  # the place of the lengths of the stories of a Word document, of which this is the order
MARGINS, COMMENTS = 2, 4  # the numbers of stories
CHARACTERS, PIECES = 0xFA, 0x1A2  # the places of the places of tables
DELETED, HIDDEN = 0x0800, 0x083C  # properties of characters
OPERANDS = (1, 1, 2, 4, 2, 2, 0, 3)  # bytes of the operand of a property, by its highest bits; 0 if its length is given
_FIELD = re.compile("\x13[^\x14\x15]*\x14?")  # what a field is computed from
_SIGNS = {7: " | ", 9: "\t", 10: "\n", 11: "\n", 12: "\n\n", 13: "\n\n", 30: "-", 160: " "}
SIGNS = dict.fromkeys(range(32)) | _SIGNS


class OldOffice(Format):
    """A compound file, or a document of another kind that a program has saved under this name."""

    kind: ClassVar[str]  # the name of the program
    newer: Format  # reads what the program writes now
    newer_suffix: ClassVar[str]

    def read(self, file: OpenFile) -> Iterator[Document]:
        from olefile import DEFECT_INCORRECT, OleFileIO

        data = file.stream.read()
        file.stream.seek(0)
        for start, other in ((b"PK", self.newer), (START, Rtf()), (b"<", Html())):
            if data.lstrip().startswith(start):
                yield from other.read(file)
                return
        if not data.startswith(OLE):
            if b"\0" in data:
                raise UnreadableError(f"not a file of {self.kind}")
            yield from PlainText().read(file)
            return
        try:
            with OleFileIO(io.BytesIO(data), raise_defects=DEFECT_INCORRECT) as compound:
                documents = list(self.documents(file, compound))
        except (UnreadableError, MemoryError):
            raise
        except Exception:  # of any kind, because each number in the file may be wrong
            raise UnreadableError(f"broken file of {self.kind}") from None
        yield from documents

    def documents(self, file: OpenFile, compound: Any) -> Iterator[Document]:
        """The documents in a compound file of olefile."""
        raise NotImplementedError

    def too_old(self) -> UnreadableError:
        """The error for a file of an older version of the program."""
        return UnreadableError(f"{self.kind} before 97: save it as {self.newer_suffix}")

    def stream(self, compound: Any, name: str) -> bytes:
        """The contents of a stream; raises UnreadableError if there is none."""
        if not compound.exists(name):
            raise self.too_old()
        return bytes(compound.openstream(name).read())


class Doc(OldOffice):
    """Word documents. Notes, headers, comments and text boxes follow the text."""

    suffixes = frozenset({".doc"})
    kind, newer, newer_suffix = "Word", Docx(), ".docx"

    def documents(self, file: OpenFile, compound: Any) -> Iterator[Document]:
        data = self.stream(compound, "WordDocument")
        _, version, flags = unpack_from("<HH6xH", data)
        if version < 0xC1:
            raise self.too_old()
        if flags & 0x100:
            raise UnreadableError("encrypted file of Word")
        table = self.stream(compound, "1Table" if flags & 0x200 else "0Table")
        whole = _word_text(_without_deleted(data, table), table)
        texts, start = list[str](), 0
        for number, length in enumerate(unpack_from("<8I", data, STORIES)):
            story = whole[2 * start : 2 * (start + length)].decode("utf-16-le", "replace")
            start += length
            story = story.replace("\x05", "Comment: ") if number == COMMENTS else story
            story = _FIELD.sub("", story).replace("\x07\x07", "\n").translate(SIGNS)
            paragraphs = story.split("\n\n")
            texts += dict.fromkeys(paragraphs) if number == MARGINS else paragraphs
        texts = [text.strip() for text in texts]
        yield converted_document(file.path, "", without_headings("\n\n".join(filter(None, texts))))


def _without_deleted(data: bytes, table: bytes) -> bytes:
    """The stream of a Word document with zeros instead of deleted and hidden characters."""
    kept, left = bytearray(data), len(data)  # characters that may be deleted; only a forged file deletes some twice
    start, size = unpack_from("<II", data, CHARACTERS)
    count = max(0, size - 4) // 8
    for number in set(unpack_from(f"<{count}I", table, start + 4 * (count + 1))):
        page = data[number * 512 : number * 512 + 512]
        n_runs = page[511]
        places = unpack_from(f"<{n_runs + 1}I", page)
        for run, first in enumerate(page[4 * (n_runs + 1) :][:n_runs]):
            properties = page[2 * first + 1 :][: page[2 * first]] if first else b""
            while len(properties) > 2:
                (name,) = unpack_from("<H", properties)
                if name in (DELETED, HIDDEN) and properties[2] & 1:
                    length = max(0, min(places[run + 1], len(data)) - places[run])
                    left -= length
                    if left < 0:
                        raise ValueError
                    kept[places[run] : places[run] + length] = bytes(length)
                properties = properties[2 + (OPERANDS[name >> 13] or properties[2] + 1) :]
    return bytes(kept)


def _word_text(data: bytes, table: bytes) -> bytes:
    """The text of all stories in UTF-16."""
    (place,) = unpack_from("<I", data, PIECES)
    while table[place] == 1:  # properties that pieces refer to
        place += 3 + unpack_from("<H", table, place + 1)[0]
    count = (unpack_from("<I", table, place + 1)[0] - 4) // 12
    numbers = unpack_from(f"<{count + 1}I", table, place + 5)
    text = bytearray()
    for number in range(count):
        (start,) = unpack_from("<I", table, place + 5 + 4 * (count + 1) + 8 * number + 2)
        length = numbers[number + 1] - numbers[number]
        if start & 1 << 30:  # one byte a character
            start = (start ^ 1 << 30) // 2
            text += data[start : start + length].decode("cp1252", "replace").encode("utf-16-le")
        else:
            text += data[start : start + 2 * length]
        if len(text) > 2 * len(data):  # only a forged file uses a text twice
            raise ValueError
    return bytes(text)


# Types of records in PowerPoint presentations
SLIDE, NOTES_TEXT, SLIDE_PLACE, ROLE, CHARACTERS_16, CHARACTERS_8, STRING = 1007, 2, 1011, 3999, 4000, 4008, 4026
SLIDES, MARGIN, TAGS, COMMENT = 4080, 4057, 5003, 12000
TITLES = (0, 6)  # the roles of texts
Record = tuple[int, int, memoryview]  # the type, the variant and the version, and the contents


class Ppt(OldOffice):
    """PowerPoint presentations with notes and comments, without deleted slides."""

    suffixes = frozenset({".ppt", ".pps"})
    kind, newer, newer_suffix = "PowerPoint", Pptx(), ".pptx"

    def documents(self, file: OpenFile, compound: Any) -> Iterator[Document]:
        data, user = memoryview(self.stream(compound, "PowerPoint Document")), self.stream(compound, "Current User")
        if len(user) < 20:
            raise self.too_old()
        token, edit = unpack_from("<II", user, 12)
        if token == 0xF3D1C4DF:
            raise UnreadableError("encrypted file of PowerPoint")
        (main,) = unpack_from("<I", data, edit + 24)
        places = _places(data, edit)

        def container(place: int) -> list[Record]:
            return [*_records(next(_records(data[place:]))[2])]

        whole = container(places[main])
        lists = {head >> 4: [*_slides(body)] for kind, head, body in whole if kind == SLIDES}
        notes = {number: places[one] for one, number, _ in lists.get(2, ())}
        outlines = {places[one]: outline for one, _, outline in lists.get(0, ())}  # each slide once
        slides, margins = [], whole
        for place, outline in outlines.items():
            records = container(place)
            margins += (record for record in records if record[0] == MARGIN)
            texts = [*_texts(outline), *_texts(records)]
            title = next((" ".join(text.split()) for role, text in texts if role in TITLES), "")
            blocks = [text for role, text in texts if role not in TITLES or " ".join(text.split()) != title]
            (note,) = next((unpack_from("<I", body, 16) for kind, _, body in records if kind == SLIDE), (0,))
            remarks = _texts(container(notes.pop(note))) if note in notes else ()
            slides.append(Slide(title, blocks, "\n".join(text for role, text in remarks if role == NOTES_TEXT)))
        found = (_texts(_records(body), MARGIN) for kind, _, body in margins if kind == MARGIN)
        if slides:
            slides[0].blocks.extend(dict.fromkeys(text for texts in found for _, text in texts))
        yield slides_document(file, "", slides)


def _places(data: memoryview, edit: int) -> dict[int, int]:
    """The places of records by the numbers with which others refer to them, as the last edit has left them."""
    places: dict[int, int] = {}
    while edit:
        before, start = unpack_from("<II", data, edit + 16)
        body = next(_records(data[start:]))[2]
        while body:
            (head,) = unpack_from("<I", body)
            number, count = head & 0xFFFFF, head >> 20
            for one, place in enumerate(unpack_from(f"<{count}I", body, 4), start=number):
                places.setdefault(one, place)
            body = body[4 + 4 * count :]
        edit = before if before < edit else 0
    return places


def _records(data: memoryview) -> Iterator[Record]:
    while len(data) >= 8:
        head, kind, size = unpack_from("<HHI", data)
        yield kind, head, data[8 : 8 + size]
        data = data[8 + size :]


def _slides(data: memoryview) -> Iterator[tuple[int, int, list[Record]]]:
    """The number of the record of each slide, the number of the slide, and the records of its outline."""
    records: list[Record] = []
    for record in _records(data):
        if record[0] == SLIDE_PLACE:
            records = []
            yield *unpack_from("<I8xI", record[2]), records
        else:
            records.append(record)


def _texts(records: Iterable[Record], within: int = 0) -> Iterator[tuple[int, str]]:
    """The role and the text of each text in records, which are in a record of the type `within`."""
    role = -1
    for kind, head, body in records:
        is_string = kind == STRING and (within == MARGIN or (within == COMMENT and head >> 4 == 1))
        if kind == ROLE:
            (role,) = unpack_from("<I", body)
        elif kind in (CHARACTERS_16, CHARACTERS_8) or is_string:
            text = str(body, "latin-1" if kind == CHARACTERS_8 else "utf-16-le", "replace")
            yield role, ("Comment: " if within == COMMENT else "") + text.replace("\r", "\n").replace("\v", "\n")
        elif (head & 15 == 15 and kind != MARGIN) or kind == TAGS:
            yield from _texts(_records(body), kind)
