"""Documents of Office 97 to 2003: their structure, and why some cannot be read."""

from struct import pack

import pytest
from old_office_files import (
    FILES,
    TEXT,
    attached,
    compound,
    excel,
    excel_record,
    outlook,
    powerpoint,
    word,
)
from read_bytes import read_bytes
from sample_files import RICH_TEXT, prices, zipped

from indexer.formats.format import UnreadableError


def texts(name, data):
    return [document.text for document in read_bytes(name, data)]


def test_the_text_of_a_word_document_has_its_tables_and_line_breaks():
    data = word({TEXT: "One\x0btwo\rA\x07B\x07\x07C\x07\x07Three\x0cFour\x1efive\xa0\x01\r"})
    assert texts("a.doc", data) == ["One\ntwo\n\nA | B\nC\nThree\n\nFour-five"]


def test_a_slide_of_an_old_presentation_is_a_page_with_its_title():
    (document,) = read_bytes("a.ppt", powerpoint("Cats", "They\rpurr", "slowly"))
    assert (document.title, document.pages, document.headings[0].title) == ("Cats", (0,), "Cats")
    assert document.text == "Cats\n\nThey\npurr\n\nNotes: slowly"


def test_rows_of_an_old_workbook_are_lines_with_numbers_dates_and_results():
    (sheet,) = read_bytes("a.xls", FILES["a.xls"])
    assert (sheet.record, sheet.line_numbers) == ("Prices", (1, 2, 3, 4))
    assert sheet.text == "Name | Age\n [Comment: hungry] | 2023-03-15\n7 | 7\nresult"
    values = excel_record(0x205, pack("<HHHBB", 1, 0, 0, 1, 0)) + excel_record(
        0x27E, pack("<HHHI", 1, 1, 0, 0x4058C000 | 1)
    )
    values += excel_record(0x06, pack("<HHHBBBBHH", 1, 2, 0, 1, 0, 0, 0, 0, 0xFFFF) + bytes(8))
    assert texts("a.xls", excel(["a"], values)) == ["a\nTRUE | 0.99 | FALSE"]


def test_a_shared_text_goes_on_in_the_next_record_in_characters_of_another_width():
    shared = excel_record(0xFC, pack("<IIHB", 2, 2, 6, 0) + b"abc") + excel_record(
        0x3C, b"\x01d\0e\0f\0" + b"\x02\0\0gh"
    )
    data = compound({"Workbook": FILES["a.xls"]})
    head = excel_record(0x809, pack("<HH", 0x600, 5)) + shared
    sheet = pack("<IHBB", len(head) + 20, 0, 1, 0) + b"S"
    start = excel_record(0x809, pack("<HH", 0x600, 16))
    cells = b"".join(excel_record(0xFD, pack("<HHHI", 0, number, 0, number)) for number in (0, 1))
    end = excel_record(0x0A)
    listed = excel_record(0x85, sheet)
    place = len(head) + len(listed) + len(end)
    listed = excel_record(0x85, pack("<I", place) + sheet[4:])
    data = compound({"Workbook": head + listed + end + start + cells + end})
    assert texts("a.xls", data) == ["abcdef | gh"]


def test_a_message_of_outlook_has_its_headers_attachments_and_inner_messages():
    folder = "__attach_version1.0_#00000001"
    inner = f"{folder}/__substg1.0_3701000D"
    more = {
        **attached("food.md", b"Honey."),
        f"{inner}/__substg1.0_0037001F": "Inner".encode("utf-16-le"),
        f"{inner}/__substg1.0_1000001E": b"Bears sl\xe4ep.",
        f"{inner}/__properties_version1.0": bytes(24),
    }
    data = outlook(
        {"0037": "Cats", "0C1A": "Ann", "5D01": "ann@example.org", "0E04": "Bob\0", "1000": "They purr."}, more
    )
    message, attachment = texts("a.msg", data)
    assert message.startswith(
        "From: Ann <ann@example.org>\nTo: Bob\nDate: Wed, 17 Jan 2024 21:20:00 +0000\n\nThey purr."
    )
    assert "Inner\n" in message and "Bears släep." in message and message.endswith("Attachments: food.md")
    assert attachment == "Honey."


def test_a_document_of_another_format_is_read_as_what_it_is():
    assert texts("a.doc", RICH_TEXT) == texts("a.rtf", RICH_TEXT)
    assert texts("a.xls", zipped(prices())) == texts("a.xlsx", zipped(prices()))
    assert texts("a.xls", b"<table><tr><td>a</td><td>b</td></tr></table>") == ["| a | b |"]
    assert texts("a.msg", b"string name # of a robot\n") == ["string name # of a robot\n"]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.doc", word({TEXT: "a"}, version=0x68), "Word before 97: save it as .docx"),
        ("a.doc", word({TEXT: "a"}, flags=0x300), "encrypted file of Word"),
        ("a.ppt", compound({"PP40": b"a"}), "PowerPoint before 97: save it as .pptx"),
        ("a.xls", compound({"Book": b"a"}), "Excel before 97: save it as .xlsx"),
        ("a.xls", excel(["a"], before=excel_record(0x2F, bytes(6))), "encrypted file of Excel"),
        ("a.xls", b"\x09\x02\x06\x00", "not a file of Excel"),
        ("a.doc", FILES["a.doc"][:700], "broken file of Word"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(name, data, reason):
    with pytest.raises(UnreadableError, match=reason):
        texts(name, data)
