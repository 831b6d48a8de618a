"""Hostile files that are packages, mail, rich text or compressed files."""

import base64
import bz2
import gzip
import lzma
import struct
from collections.abc import Callable

from sample_files import (
    FILES,
    MESSAGE,
    OPEN,
    bears,
    book,
    open_document,
    presentation,
    prices,
    shape,
    slide,
    talk,
    workbook,
    zipped,
)

LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha ha ha">' + "".join(
    f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)
FILE = '<!DOCTYPE x [<!ENTITY j SYSTEM "file:///etc/hostname">'
NETWORK = '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd" [<!ENTITY % p SYSTEM "http://127.0.0.1:9/p"> %p;'


def makers() -> dict[str, Callable[[], bytes]]:
    """The name and maker of every file."""
    return {
        **_bombs(),
        **_entities(),
        **_sheets(),
        **_nested(),
        **_references(),
        **_mails(),
        **_rich_texts(),
        **_odd_zips(),
    }


def _bombs() -> dict[str, Callable[[], bytes]]:
    return {
        "unpacks.xlsx": lambda: zipped(workbook({"S": "<row/>" * 12_000_000})),
        "unpacks.odt": lambda: zipped(open_document("text", "<text:p/>" * 8_000_000)),
        "many_tags.odt": lambda: zipped(open_document("text", "<text:p/>" * 3_100_000)),
        "many_tags.xlsx": lambda: zipped(workbook({"S": "<x/>" * 8_500_000})),
        "unpacks.pptx": lambda: zipped(presentation([slide("<a:p/>" * 12_000_000)])),
        "unpacks.epub": lambda: zipped(book({"a.xhtml": "x" * 70_000_000}, {})),
        "unpacks.txt.gz": lambda: gzip.compress(bytes(300_000_000), 1),
        "unpacks.txt.bz2": lambda: bz2.compress(b"x" * 150_000_000, 1),
        "unpacks.txt.xz": lambda: lzma.compress(b"x" * 150_000_000, preset=0),
        "unpacks.pdf.gz": lambda: gzip.compress(b"%PDF-1.4" + bytes(200_000_000), 1),
        "a_bomb_inside.xlsx.gz": lambda: gzip.compress(zipped(workbook({"S": "<row/>" * 12_000_000}))),
        "endless_line.csv.gz": lambda: gzip.compress(b"id,text\n1," + b"x" * 200_000_000, 1),
    }


def _entities() -> dict[str, Callable[[], bytes]]:
    def text(declared: str, encoding: str = "utf-8", attribute: str = "") -> bytes:
        parts = open_document("text", f"<text:p text:x='{attribute}'>the cat &j;</text:p>")
        content = f'<?xml version="1.0" encoding="{encoding}"?>{declared}]>' + parts["content.xml"].decode()
        return zipped({**parts, "content.xml": content.encode(encoding)})

    return {
        "laughs.odt": lambda: text(LAUGHS),
        "laughs_utf16.odt": lambda: text(LAUGHS, "utf-16"),
        "laughs_utf7.odt": lambda: text(LAUGHS, "utf-7", "&j;"),
        "file.odt": lambda: text(FILE),
        "network.odt": lambda: text(NETWORK),
        "laughs.pptx": lambda: zipped(
            presentation([f"{LAUGHS}]>".encode() + slide(shape("the cat &j;"))])
        ),
        "laughs.xlsx": lambda: zipped(
            {**prices(), "xl/texts.xml": f"{LAUGHS}]><sst><si><t>&j;</t></si></sst>".encode()}
        ),
        "file.epub": lambda: zipped(
            {**bears(), "META-INF/container.xml": f"{FILE}]><container>&j;</container>".encode()}
        ),
    }  # fmt: skip


def _sheets() -> dict[str, Callable[[], bytes]]:
    far = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576" t="str"><v>the cat</v></c></row>'
    odd = '<row r="99999999999"><c r="ZZZ9" t="str"><v>the cat</v></c><c r="" s="-1"><v>x</v></c><x/></row><row r="1"/>'
    text = f"<si><t>{'x' * 32_000}</t></si>"
    repeated = "<row>" + '<c t="s"><v>0</v></c>' * 4000 + "</row>"
    cell = '<table:table-cell table:number-columns-repeated="999999999"><text:p>the cat</text:p>'
    empty = "<table:table-cell/>"
    row = f'<table:table-row table:number-rows-repeated="999999999">{cell}</table:table-cell></table:table-row>'
    return {
        "far.xlsx": lambda: zipped(workbook({"S": far})),
        "odd_places.xlsx": lambda: zipped(workbook({"S": odd})),
        "repeated.xlsx": lambda: zipped(workbook({"S": repeated * 10}, text)),
        "huge_numbers.xlsx": lambda: zipped(workbook({"S": f"<row><c s='1'><v>{'9' * 100_000}</v></c></row>"})),
        "repeated.ods": lambda: zipped(
            open_document("spreadsheet", f'<table:table table:name="S">{row * 1000}</table:table>')
        ),
        "wide.ods": lambda: zipped(
            open_document(
                "spreadsheet", f"<table:table><table:table-row>{empty * 1_000_000}</table:table-row></table:table>"
            )
        ),
    }  # fmt: skip


def _nested() -> dict[str, Callable[[], bytes]]:
    def tables(depth: int) -> str:
        start = "<table:table><table:table-row><table:table-cell><text:p>x</text:p>"
        return start * depth + "</table:table-cell></table:table-row></table:table>" * depth

    lists = "<text:list><text:list-item><text:p>x</text:p>"
    return {
        "deep.odt": lambda: zipped(open_document("text", "<text:section>" * 100_000 + "</text:section>" * 100_000)),
        "deep_tables.odt": lambda: zipped(open_document("text", tables(80))),
        "deep_tables.ods": lambda: zipped(open_document("spreadsheet", tables(80))),
        "deep_lists.odt": lambda: zipped(
            open_document("text", (lists * 120 + "</text:list-item></text:list>" * 120) * 30)
        ),
        "deep_groups.pptx": lambda: zipped(
            presentation([slide("<p:grpSp>" * 100_000 + "</p:grpSp>" * 100_000)])
        ),
    }  # fmt: skip


def _references() -> dict[str, Callable[[], bytes]]:
    """Packages that refer to one part many times, to themselves, or to the world outside."""

    def same_slide(count: int, text: str) -> bytes:
        parts = presentation([slide(shape(text))])
        ids = '<p:sldId id="256" r:id="r1"/>' * count
        start, end = parts["ppt/presentation.xml"].split(b'<p:sldId id="256" r:id="r1"/>')
        return zipped({**parts, "ppt/presentation.xml": start + ids.encode() + end})

    outside = talk()
    outside["ppt/_rels/presentation.xml.rels"] = outside["ppt/_rels/presentation.xml.rels"].replace(
        b"slides/slide1.xml", b"../../../../etc/passwd"
    )
    itself = talk()
    itself["ppt/slides/_rels/slide2.xml.rels"] = itself["ppt/slides/_rels/slide2.xml.rels"].replace(
        b"../notesSlides/notesSlide1.xml", b"slide2.xml"
    )
    chapters = book({"a.xhtml": "<p>the cat"}, {})
    chapters["OEBPS/book.opf"] = chapters["OEBPS/book.opf"].replace(b'href="a.xhtml"', b'href="../../../etc/passwd"')
    return {
        "same_slide.pptx": lambda: same_slide(100_000, "the cat"),
        "same_large_slide.pptx": lambda: same_slide(1000, "the cat " * 10_000),
        "outside.pptx": lambda: zipped(outside),
        "itself.pptx": lambda: zipped(itself),
        "outside.epub": lambda: zipped(chapters),
    }


def _mails() -> dict[str, Callable[[], bytes]]:
    head = b"Subject: the cat\nContent-Type: multipart/mixed; boundary=b\n\n"
    nested = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (number, number) for number in range(5000)
    )
    bomb = base64.encodebytes(zipped(workbook({"S": "<row/>" * 12_000_000})))
    attached = b'--b\nContent-Transfer-Encoding: base64\nContent-Disposition: attachment; filename="%s"\n\n'
    charsets = (b"punycode", b"zip", b"unicode_escape", b"idna", b"undefined", b"x'y'%ff", b"")
    names = (
        b"../../../tmp/evil.txt",
        b"..\\..\\evil.txt",
        b"/etc/passwd.txt",
        b"\xff\x1b]0;x\x07.txt",
        b"a" * 9999 + b".txt",
    )
    return {
        "nested.eml": lambda: nested + b"the cat",
        "nested_messages.eml": lambda: b"Content-Type: message/rfc822\n\n" * 5000 + b"the cat",
        "digest.eml": lambda: b"Content-Type: multipart/digest; boundary=b\n\n--b\n\n" * 5000,
        "carriage_returns.eml": lambda: nested.replace(b"\n", b"\r"),
        "parameters.eml": lambda: b"Content-Type: text/plain" + b";" * 5_000_000 + b"\n\nthe cat",
        "headers.eml": lambda: b"Subject: the cat\n" + b"a: b\n" * 500_000 + b"\nthe cat",
        "long_header.eml": lambda: b"Subject: " + b"=?utf-8?q?a" * 500_000 + b"\n\nthe cat",
        "odd_charsets.eml": lambda: head + b"".join(
            b"--b\nContent-Type: text/plain; charset=%s\n\nthe cat %d\n" % (name, number)
            for number, name in enumerate(charsets)
        ),
        "names.eml": lambda: head + b"".join(attached % name + b"dGhlIGNhdA==\n" for name in names),
        "a_bomb_inside.eml": lambda: head + attached % b"a.xlsx" + bomb,
        "a_mail_inside.eml": lambda: head + attached % b"a.eml" + base64.encodebytes(MESSAGE),
        "bad_base64.eml": lambda: head + attached % b"a.txt" + b"@@@@=\n",
        "many_messages.mbox": lambda: b"From x\n\n" * 60_000,
        "one_line.mbox": lambda: b"From " + b"x" * 300_000,
        "no_end.mbox": lambda: b"From x\nSubject: the cat\nContent-Type: multipart/mixed; boundary=b\n\n--b",
    }  # fmt: skip


def _rich_texts() -> dict[str, Callable[[], bytes]]:
    return {
        "deep.rtf": lambda: b"{\\rtf1 the cat" + b"{" * 1_000_000,
        "closed.rtf": lambda: b"{\\rtf1 the cat" + b"}" * 1_000_000,
        "codes.rtf": lambda: b"{\\rtf1 the cat " + b"\\'e4\\'e4 the cat " * 40_000,
        "unicode.rtf": lambda: b"{\\rtf1 the cat \\uc99999999 \\u-55296?\\u999999999?\\u0?" + b"\\u55357 " * 1000,
        "bin.rtf": lambda: b"{\\rtf1 the cat {\\pict\\bin999999999 x}} y",
        "fonts.rtf": lambda: b"{\\rtf1{\\fonttbl" + b"".join(b"{\\f%d\\fcharset%d x;}" % (i, i) for i in range(99_999)),
        "backslashes.rtf": lambda: b"{\\rtf1 the cat " + b"\\" * 1_000_001,
    }  # fmt: skip


def _odd_zips() -> dict[str, Callable[[], bytes]]:
    def changed(name: str, offset: int, form: str, value: int) -> bytes:
        """A package, a field of whose entries in the central directory is replaced."""
        data, place = bytearray(FILES[name]), 0
        while (place := data.find(b"PK\x01\x02", place + 1)) > 0:
            struct.pack_into(form, data, place + offset, value)
        return bytes(data)

    return {
        "encrypted.epub": lambda: changed("a.epub", 8, "<H", 1),
        "unknown_packing.odt": lambda: changed("a.odt", 10, "<H", 77),
        "huge_size.ods": lambda: changed("a.ods", 24, "<I", 0xFFFFFFF0),
        "offset.pptx": lambda: changed("a.pptx", 42, "<I", 0x7FFFFFFF),
        "text.odt": lambda: zipped({"content.xml": b"the cat"}),
        "no_body.odp": lambda: zipped({"content.xml": f"<x {OPEN}/>".encode()}),
    }
