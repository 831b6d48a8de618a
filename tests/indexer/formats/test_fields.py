"""Documents and records have fields, by which searches are filtered: of each format, with bounds, and with dates."""

import io

import docx
import pytest
from pdf_pages import column, pdf_of
from read_bytes import parquet, read_bytes
from sample_files import FILES

from indexer.formats.fields import MAX_FIELDS, MAX_VALUE, as_date
from indexer.formats.format import LeftOut

MAIL = (
    'From: Ann Lee <ann@a.org>\nTo: ben@b.org, "Cox, C." <c@c.org>\nDate: Mon, 1 Jan 2024 23:00:00 +0200\n'
    "Subject: Rent\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nIt rises.\n"
    "--b\nContent-Disposition: attachment; filename=a.md\n\n---\nstatus: due\n---\nIt is 800.\n--b--\n"
)
HEADERS = (
    ("from", "Ann Lee <ann@a.org>"), ("to", "ben@b.org"), ("to", "Cox, C. <c@c.org>"), ("date", "2024-01-01"),
    ("subject", "Rent"),
)  # fmt: skip


def word():
    document, stream = docx.Document(), io.BytesIO()
    document.add_paragraph("text")
    document.core_properties.author, document.core_properties.title = "Ann", "Plan"
    document.save(stream)
    return stream.getvalue()


def fields(name, data, left_out=None):
    data = data.encode() if isinstance(data, str) else data
    return [one.fields for one in read_bytes(name, data, left_out=left_out)]


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.md", "---\nStatus: Open\ntags:\n- a\n- b\nDue date: 2024-3-1\nx: {y: 5, z: }\n---\nbody\n",
         (("status", "Open"), ("tags", "a"), ("tags", "b"), ("due_date", "2024-03-01"), ("x.y", "5"))),
        ("a.md", "+++\ndate = 2024-03-01T10:00:00Z\ndraft = true\n[a]\nb = 1.5\n+++\nbody\n",
         (("date", "2024-03-01"), ("draft", "true"), ("a.b", "1.5"))),
        ("a.csv", "id,text,price,empty,price=net\n1,hello,5,,3\n", (("price", "5"), ("price_net", "3"))),
        ("a.csv", "day,payee\n2024-01-02,Blenkinsop\n", (("day", "2024-01-02"), ("payee", "Blenkinsop"))),
        ("a.jsonl", '{"text": "t", "lang": "en", "tags": ["x", "x", "y"], "vector": [' + "0.5, " * 20 + "1]}\n",
         (("lang", "en"), ("tags", "x"), ("tags", "y"))),
        ("a.parquet", parquet(text=["t"], n=[3], raw=[b"\xff"], tags=[["x"]], v=[[0.5, 1.0]]),
         (("n", "3"), ("tags", "x"))),
        ("a.eml", MAIL, HEADERS),
        ("a.txt", "---\nno fields", ()),
    ],
)  # fmt: skip
def test_the_fields_of_each_format(name, data, expected):
    assert fields(name, data)[0] == expected


def test_an_attachment_has_the_fields_of_its_message_too():
    assert fields("a.eml", MAIL)[1] == (*HEADERS, ("status", "due"))


def test_the_properties_of_documents_are_fields():
    found = dict(fields("a.docx", word())[0])
    assert (found["title"], found["author"]) == ("Plan", "Ann") and as_date(found["created"]) == found["created"]
    assert ("title", "On bears") in fields("a.odt", FILES["a.odt"])[0]
    assert fields("a.pdf", pdf_of([column(50, 700, ["some text"])], title="Animals"))[0][0] == ("title", "Animals")


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-01-31T23:59:00+01:00", "2024-01-31"), ("2024/1/31 08:00", "2024-01-31"), ("31.1.2024", "2024-01-31"),
        ("D:20240131120000+01'00'", "2024-01-31"), ("2024-02-31", "2024-02-31"),
        ("31 January 2024", "2024-01-31"), ("Wed, 31 Jan 2024 08:00:00 +0000", "2024-01-31"),
        ("Jan 31st, 2024", "2024-01-31"), ("31-JAN-2024", "2024-01-31"), ("2024-01-31 10:00 PM", "2024-01-31"),
        ("Wed Jan 31 08:00:00 2024", "2024-01-31"), ("Wed Jan 31 08:00:00 +0000 2024", "2024-01-31"),
        ("Notes 31 January 2024", "Notes 31 January 2024"), ("31 Fabric 2024", "31 Fabric 2024"),
        ("2024-01-31 Notes", "2024-01-31 Notes"), ("01/02/2024", "01/02/2024"), ("2024", "2024"), ("1-1-1", "1-1-1"),
    ],
)  # fmt: skip
def test_dates_in_usual_forms_become_days(text, day):
    assert as_date(text) == day


def test_many_and_long_values_are_bounded_and_this_is_said_of_the_file():
    left_out = LeftOut()
    rows = "".join(f'{{"text": "t", "long": "{"x" * 9_999}", "tags": {[str(n) for n in range(99)]}}}\n' for _ in "ab")
    found = fields("a.jsonl", rows.replace("'", '"'), left_out)
    assert [len(one) for one in found] == [MAX_FIELDS] * 2 and len(found[0][0][1]) == MAX_VALUE
    assert str(left_out) == (
        f"2 fields left out: field long is cut after {MAX_VALUE} characters;"
        f" field tags is left out: more than {MAX_FIELDS} values"
    )


def test_front_matter_that_repeats_its_values_by_reference_is_harmless():
    lists = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 60)}]\n" for n in range(1, 9))
    objects = "".join(f"b{n}: &b{n} {{{', '.join(f'k{i}: *b{n - 1}' for i in range(60))}}}\n" for n in range(1, 9))
    assert len(fields("a.md", f"---\na0: &a0 x\nb0: &b0 ''\n{lists}{objects}---\nbody\n")[0]) <= MAX_FIELDS
    empty = lists.replace("a1: &a1 [", "a1: &a1 [[], ") + "".join(f"c{n}: *a8\n" for n in range(900))
    assert fields("a.md", f"---\na0: &a0 []\n{empty}---\nbody\n")[0] == ()
