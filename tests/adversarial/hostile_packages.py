"""Hostile files that are packages, mail, rich text or compressed files."""

import base64
import bz2
import gzip
import lzma
import struct
from collections.abc import Callable

import old_office_files
from sample_files import (
    FILES,
    MESSAGE,
    bears,
    book,
    open_document,
    presentation,
    prices,
    shape,
    slide,
    tar,
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
        **_archives(),
    }


def _bombs() -> dict[str, Callable[[], bytes]]:
    return {
        "unpacks.xlsx": lambda: zipped(workbook({"S": "<row/>" * 12_000_000})),
        "many_tags.xlsx": lambda: zipped(workbook({"S": "<x/>" * 8_500_000})),
        "unpacks.epub": lambda: zipped(book({"a.xhtml": "x" * 70_000_000}, {})),
        "unpacks.txt.gz": lambda: gzip.compress(bytes(300_000_000), 1),
        "unpacks.txt.bz2": lambda: bz2.compress(b"x" * 150_000_000, 1),
        "unpacks.txt.xz": lambda: lzma.compress(b"x" * 150_000_000, preset=0),
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
        "network.odt": lambda: text(NETWORK),
        "laughs.xlsx": lambda: zipped(
            {**prices(), "xl/texts.xml": f"{LAUGHS}]><sst><si><t>&j;</t></si></sst>".encode()}
        ),
        "file.epub": lambda: zipped(
            {**bears(), "META-INF/container.xml": f"{FILE}]><container>&j;</container>".encode()}
        ),
    }  # fmt: skip


def _sheets() -> dict[str, Callable[[], bytes]]:
    far = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576" t="str"><v>the cat</v></c></row>'
    text = f"<si><t>{'x' * 32_000}</t></si>"
    repeated = "<row>" + '<c t="s"><v>0</v></c>' * 4000 + "</row>"
    cell = '<table:table-cell table:number-columns-repeated="999999999"><text:p>the cat</text:p>'
    empty = "<table:table-cell/>"
    row = f'<table:table-row table:number-rows-repeated="999999999">{cell}</table:table-cell></table:table-row>'
    return {
        "far.xlsx": lambda: zipped(workbook({"S": far})),
        "repeated.xlsx": lambda: zipped(workbook({"S": repeated * 10}, text)),
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

    chapters = book({"a.xhtml": "<p>the cat"}, {})
    chapters["OEBPS/book.opf"] = chapters["OEBPS/book.opf"].replace(b'href="a.xhtml"', b'href="../../../etc/passwd"')
    return {
        "same_slide.pptx": lambda: same_slide(100_000, "the cat"),
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
        "many_messages.mbox": lambda: b"From x\n\n" * 60_000,
    }  # fmt: skip


def _rich_texts() -> dict[str, Callable[[], bytes]]:
    return {
        "deep.rtf": lambda: b"{\\rtf1 the cat" + b"{" * 1_000_000,
        "codes.rtf": lambda: b"{\\rtf1 the cat " + b"\\'e4\\'e4 the cat " * 40_000,
        "unicode.rtf": lambda: b"{\\rtf1 the cat \\uc99999999 \\u-55296?\\u999999999?\\u0?" + b"\\u55357 " * 1000,
        "bin.rtf": lambda: b"{\\rtf1 the cat {\\pict\\bin999999999 x}} y",
    }  # fmt: skip


def _encrypted() -> bytes:
    data, place = bytearray(FILES["a.epub"]), 0
    while (place := data.find(b"PK\x01\x02", place + 1)) > 0:
        struct.pack_into("<H", data, place + 8, 1)  # the flag of an entry in the central directory
    return bytes(data)


def _archives() -> dict[str, Callable[[], bytes]]:
    """Archives that unpack to much, and compound files whose records are nested or refer to each other."""
    nested = b""
    for _ in range(20_000):
        nested = struct.pack("<HHI", 15, 1036, len(nested)) + nested
    return {
        "encrypted.epub": _encrypted,
        "bomb.zip": lambda: zipped({"a.txt": b"the cat", "b.txt": b"x" * 70_000_000}),
        "bomb.tgz": lambda: tar({"a.txt": b"the cat", "b.txt": b"x" * 70_000_000}, "w:gz"),
        "many.tar": lambda: tar({f"{number}.bin": b"" for number in range(50_000)} | {"a.txt": b"the cat"}),
        "deep.ppt": lambda: old_office_files.compound({"PowerPoint Document": nested, "Current User": bytes(20)}),
        "loop.xls": lambda: FILES["a.xls"].replace(b"\xfe\xff\xff\xff", b"\0\0\0\0"),
    }  # fmt: skip
