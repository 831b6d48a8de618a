"""A corpus of hostile files, made by code. Each one once stopped a reader of files, or took all its time or memory.

`FILES` maps a file's name to a function that makes its bytes.
"""

import gzip
import io
import json
import random
from collections.abc import Callable
from datetime import date

import hostile_packages
from sample_files import relations, zipped

DOCX_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def pdf(pages: list[str], count: int | None = None) -> bytes:
    """The smallest PDF with one line of text per page; `count` is the number of pages that it claims to have."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count or len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        content = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
        box = "/MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R {box} /Contents {5 + 2 * number} 0 R >>".encode())
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (size, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table) + trailer


def docx(body: str, extra: dict[str, bytes] | None = None) -> bytes:
    """A Word document of raw XML, with the further parts in `extra`."""
    parts = {
        "[Content_Types].xml": DOCX_TYPES.encode(),
        "_rels/.rels": relations(("officeDocument", "word/document.xml")),
        "word/document.xml": f"<w:document {WORD}><w:body>{body}</w:body></w:document>".encode(),
    }
    return zipped(parts | (extra or {}))


def docx_cell(text: str, properties: str = "") -> str:
    """A cell of a Word table."""
    return f"<w:tc><w:tcPr>{properties}</w:tcPr><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>"


def parquet(table: object, **options: object) -> bytes:
    """A table of pyarrow as a file."""
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    pq.write_table(table, stream, **options)
    return stream.getvalue()


def zstandard(data: bytes) -> bytes:
    """`data` compressed with Zstandard."""
    import pyarrow as pa

    buffer = pa.BufferOutputStream()
    with pa.CompressedOutputStream(buffer, "zstd") as packed:
        packed.write(data)
    return buffer.getvalue().to_pybytes()


def odd_parquet() -> bytes:
    """A table with values, beside the text, for which Python has no type."""
    import pyarrow as pa

    columns = {
        "text": pa.array(["the cat", "the dog"]),
        "id": pa.array([2**31 - 1, -(2**31)], pa.int32()).cast(pa.date32()),
        "title": pa.array([2**62, 1], pa.timestamp("us", "Nowhere/Town")),
        "blob": pa.array([b"\xff", b"\0"]),
    }
    return parquet(pa.table(columns))


def _noise(size: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size)


def _corpus() -> dict[str, Callable[[], bytes]]:
    """The name and maker of every file. The bytes are made on demand, because some are large."""
    return {
        **_records(),
        **_markup(),
        **_office(),
        **hostile_packages.makers(),
        **_code(),
        "signs_at_the_end.md": lambda: b"# " + b"a #" * 40_000 + b"b",
        "endless_section.rst": lambda: b"a" * 100_000 + b"\n" + b"=" * 100_000,
        "nested_list.md": lambda: b"\n".join(b" " * (2 * depth) + b"- x" for depth in range(320)),
        "newlines.txt": lambda: b"\n" * 3_000_000 + b"x",
        "noise.txt": lambda: _noise(100_000),
        "picture.txt": lambda: b"\x89PNG\r\n\x1a\n" + _noise(5000),
        "short_noise.txt": lambda: bytes(byte or 1 for byte in _noise(200)),
    }


def _records() -> dict[str, Callable[[], bytes]]:
    return {
        "surrogate.jsonl": lambda: b'{"_id": "\\udc00", "title": "\\ud800", "text": "the \\ud83d cat"}\n',
        "nested.jsonl": lambda: b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
        "long_id.jsonl": lambda: json.dumps(
            {"_id": "i" * 500_000, "title": "t" * 500_000, "text": "cat " * 9000}
        ).encode(),
        "many_columns.jsonl": lambda: json.dumps(
            {f"column{n}\x1b]0;title\x07": "the cat" for n in range(3000)}
        ).encode(),
        "endless_line.jsonl.gz": lambda: gzip.compress(b'{"text": "' + b"x" * 200_000_000, 1),
        "many_values.jsonl.gz": lambda: gzip.compress(b'{"text": [' + b"[]," * 13_000_000 + b"1]}", 1),
        "nul.csv": lambda: b"id,text\n1,the\0cat\n",
        "open_quote.csv": lambda: b'id,text\n1,"the cat\n' + b"2,dog\n" * 20_000,
        "huge_field.csv": lambda: b'id,text\n1,"' + b"x" * 25_000_000 + b'"\n',
        "wide.csv": lambda: b"text," + b"a," * 300_000 + b"z\n" + b"x\n" * 10_000,
        "odd_types.parquet": odd_parquet,
        "nested_text.parquet": _nested_parquet,
        "not_utf8.parquet": _not_utf8_parquet,
        "repeated.parquet": _repeated_parquet,
    }


def _nested_parquet() -> bytes:
    import pyarrow as pa

    return parquet(pa.table({"text": [[{"a": 1}], [{"a": 2}]]}))


def _not_utf8_parquet() -> bytes:
    import pyarrow as pa

    data = pa.array([b"the cat \xff", b"the dog"]).view(pa.string())
    return parquet(pa.table({"text": data, "date": [date(2020, 1, 1)] * 2}))


def _repeated_parquet() -> bytes:
    """A megabyte of text, repeated 500 times, in a file of a few kilobytes."""
    import pyarrow as pa

    values = pa.DictionaryArray.from_arrays(pa.array([0] * 500, pa.int32()), pa.array(["\n" * 1_000_000]))
    return parquet(pa.table({"text": values}), compression="zstd")


def _markup() -> dict[str, Callable[[], bytes]]:
    return {
        "deep_1000.html": lambda: b"<div>" * 1000 + b"the cat",
        "deep_100000.html": lambda: b"<div>" * 100_000 + b"the cat",
        "deep_tables.html": lambda: b"<table><tr><td>a" * 2000 + b"</td></tr></table>" * 2000,
        "deep_headers.html": lambda: b"<header>a" * 3000,
        "styling.html": lambda: b"".join(b"<b id=%d>" % number for number in range(3000)) + b"<p>a" * 3000,
        "surrogates.html": lambda: b"<p>the cat &#xD800; &#x110000; &#0;</p>",
    }


def _office() -> dict[str, Callable[[], bytes]]:
    wide = "<w:tr>" + docx_cell("the cat", '<w:gridSpan w:val="100000000"/>') + "</w:tr>"
    merged = "<w:tr>" + docx_cell("a", "<w:vMerge/>") + "</w:tr>"
    return {
        "wide_cell.docx": lambda: docx(f"<w:tbl>{wide}</w:tbl>"),
        "merged_rows.docx": lambda: docx(f"<w:tbl>{merged * 3000}</w:tbl>"),
        "no_grid.docx": lambda: docx("<w:tbl><w:tr><w:tc/></w:tr><w:tr/></w:tbl><w:p><w:r><w:t>cat</w:t></w:r></w:p>"),
        "unpacks.docx": lambda: docx("<w:p/>" * 13_000_000),
        "nested_cells.ipynb": lambda: b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "many_values.ipynb": lambda: b'{"cells": [' + b"[]," * 6_600_000 + b"1]}",
        "surrogate.ipynb": lambda: b'{"cells": [{"cell_type": "markdown", "source": ["the \\ud800 cat"]}]}',
        "claims_pages.pdf": lambda: pdf(["the cat"], count=1_000_000),
        "itself.pdf": lambda: pdf(["the cat"]).replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]"),
    }


def _code() -> dict[str, Callable[[], bytes]]:
    return {
        "arrows.c": lambda: b"x=>\n" * 7500,  # the parser takes minutes, and cannot be stopped within them
        "here.sh": lambda: b"<<A\n" * 25_000,
        "deep.yaml": lambda: b"\n".join(b" " * depth + b"a:" for depth in range(440)),
        "tags.xml": lambda: b"<a>\n" * 25_000,
        "surrogates.json": lambda: b'{"a": "the \\ud800 cat"}',
        "itself.xml": lambda: b'<!DOCTYPE a [<!ENTITY a "&b;"><!ENTITY b "&a;">]><a>&a;</a>',
        "elsewhere.xml": lambda: b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>the cat &x;</a>',
        "wrong_encoding.xml": lambda: b"<?xml version='1.0' encoding='utf-16'?>\n<a>the cat</a>\n",
        "attributes.xml": lambda: (
            b"<a>" + b"".join(b"<b c%d='%d'/>\n" % (n, n) for n in range(50_000)) + b"the cat</a>"
        ),
        "laughs.yaml": lambda: b"a: &a [the, cat]\n" + b"".join(b"b%d: &b%d [*a, *a]\n" % (n, n) for n in range(2000)),
    }


FILES = _corpus()
