"""Calendars, contacts and notes: each event, contact or note is a record, with its lines."""

import pytest
from read_bytes import documents
from sample_files import CALENDAR, FILES

from indexer.formats.format import LeftOut, UnreadableError


def records(name, data=None, left_out=None):
    return documents(name, FILES[name] if data is None else data, left_out)


def lines(document):
    return list(zip(document.line_numbers, document.text.split("\n"), strict=True))


def test_an_event_of_a_calendar_is_a_record_without_its_alarms():
    event, calendar = records("a.ics")
    assert (event.id, event.record, event.title) == ("a.ics#1", "1", "Wake the bears")
    assert lines(event) == [
        (9, "Start: 2024-03-01 10:00"),
        (10, "End: 2024-03-01 10:30 UTC"),
        (11, "Wake the bears"),
        (13, "Honey, berries"),
        (13, "and fish"),
        (14, "Organizer: Bear, Ann ann@example.org"),
    ]
    assert (calendar.title, calendar.text) == ("Forest", "Forest")


def test_a_contact_is_a_record_also_in_old_encodings_and_without_its_end():
    ann, honey = records("a.vcf")
    assert (ann.title, honey.title) == ("Ann Bär", "Honey Ltd;Co, Pots")
    assert lines(ann) == [
        (3, "Name: Bear, Ann"),
        (4, "Ann Bär"),
        (6, "Telephone: +47 1234"),
        (7, "Address: Den 7, Oslo, Norway"),
        (10, "Birthday: 2000-01-02"),
    ]
    assert lines(honey) == [(13, "Organization: Honey Ltd;Co, Pots"), (14, "sweet")]


@pytest.mark.parametrize("name", ["a.ics", "a.vcf"])
def test_a_file_that_begins_no_record_is_refused(name):
    with pytest.raises(UnreadableError, match="neither a calendar nor contacts"):
        records(name, b"SUMMARY:x\n")
    assert records(name, CALENDAR[:30]) == []


def test_a_note_of_evernote_is_a_record_and_its_attachments_are_listed():
    left_out = LeftOut()
    bears, fish = records("a.enex", left_out=left_out)
    assert (bears.id, bears.record, bears.title) == ("a.enex#1", "1", "Bears")
    assert bears.text == "They sleep\n\nhoney\n\nTags: winter, den\n\nAttachments: map.pdf"
    assert (fish.title, fish.text) == ("Fish", "")
    assert str(left_out) == "1 attachment left out: attachment map.pdf of a note is not read"


def test_a_book_in_one_file_is_read_with_the_titles_of_its_sections_and_its_notes():
    (book,) = records("a.fb2")
    assert (book.title, [one.title for one in book.headings if one.title]) == ("On bears", ["Bears", "The den"])
    assert [line for line in book.text.split("\n") if line] == [
        *(
            "Ann",
            "Bear",
            "On bears",
            "A tale.",
            "Bears",
            "The",
            "den",
            "Они спят.",
            "Honey1",
            "Roses",
            "are red",
            "sweet",
        ),
    ]


def test_the_labels_of_a_drawing_are_read():
    (drawing,) = records("a.svg")
    assert [line for _, line in lines(drawing) if line] == ["Bears", "They", "sleep", "in the den"]
    assert records("a.svg", b"<svg><text>a <desc>b</desc> c</text></svg>")[0].text == "a b c"
    assert records("a.svg", b"<svg><path d='M0 0'/></svg>")[0].text == ""
