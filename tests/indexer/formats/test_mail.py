"""Messages and mailboxes: headers, the text that is chosen, and attachments."""

import gzip
from base64 import encodebytes
from email.message import EmailMessage

import pytest
from read_bytes import documents
from sample_files import FILES, MAILBOX, MESSAGE, zipped

from indexer.formats.format import LeftOut, UnreadableError


def message(*parts, subject="Bears"):
    """A message of raw parts with their headers."""
    head = f'Subject: {subject}\nContent-Type: multipart/mixed; boundary="b"\n\n'.encode()
    return head + b"".join(b"--b\n" + part + b"\n" for part in parts) + b"--b--\n"


def attachment(name, data):
    return f'Content-Disposition: attachment; filename="{name}"\n\n'.encode() + data


def test_a_message_has_its_subject_as_title_and_its_headers_and_plain_text_as_text():
    document, _ = documents("a.eml", MESSAGE)
    assert (document.id, document.title, document.record) == ("a.eml", "Grüße aus", None)
    assert document.text.startswith("From: Bär <bear@example.org>\nTo: you@example.org\nDate: Mon, 1 Jan")
    assert document.text.count("schläft") == 1


def alternatives(plain, html):
    """A message of a plain text and HTML."""
    made = EmailMessage()
    made.set_content(plain)
    made.add_alternative(html, subtype="html")
    return bytes(made)


def test_the_links_and_emphases_of_a_message_have_their_places_in_its_text():
    rich = b"Content-Type: text/html\n\n<p>The <b>bear</b> <a href='https://example.org'>sleeps</a>.</p>"
    document, *_ = documents("a.eml", message(b"\n\xef\xbc\xa1 note", rich, attachment("b.txt", b"c")))
    assert [(document.text[one.offset :][: len(one.words)], one.element) for one in document.inlines] == [
        ("bear", "b"), ("sleeps", "a"),
    ]  # fmt: skip


def test_the_files_of_an_attached_archive_are_read_but_no_archive_in_it():
    inner = message(attachment("d.zip", zipped({"bee.md": "honey"})))
    data = zipped({"a/den.md": "bear den", "b.csv": "who,what\nAnn,fox\n", "c.eml": inner})
    left_out = LeftOut()
    _, *found = documents("a.eml", message(attachment("q.zip", data)), left_out)
    assert [(one.path, one.id, one.record, one.text.split()[-1]) for one in found] == [
        ("a.eml", "a.eml#q.zip/a/den.md", "q.zip/a/den.md", "den"),
        ("a.eml", "a.eml#q.zip/b.csv#1", "q.zip/b.csv", "fox"),
        ("a.eml", "a.eml#q.zip/c.eml", "q.zip/c.eml", "d.zip"),
    ]
    assert "an archive in an archive" in str(left_out)


SAID = "the portcullis key hangs in the gatehouse and opens the drawbridge every day"
LONG = " ".join(f"word{number}" for number in range(40))


@pytest.mark.parametrize(
    ("plain", "rich", "text"),
    [
        ("Your client does not support HTML.", f"<p>{SAID}</p>", SAID),
        ("The portcullis key", f"<style>p {{}}</style><p>{SAID}</p>", SAID),
        (SAID, f"<p>{SAID}</p>", SAID),
        ("At https://a.example/x now", "<p>At <a href='https://b.example'>now</a></p>", "At https://a.example/x now"),
        ("Honey is in the tree", "<img src='tree.png'>", "Honey is in the tree"),
        (LONG, f"<p>{SAID}</p>", f"{LONG}\n\n{SAID}"),
    ],
    ids=["a hint", "the beginning", "the same", "addresses", "a picture", "both"],
)  # fmt: skip
def test_plain_text_is_read_if_it_says_what_the_html_says(plain, rich, text):
    assert documents("a.eml", alternatives(plain, rich))[0].text.replace("\n\n\n", "\n\n").strip() == text


def test_words_that_flowed_lines_divide_are_joined():
    kind = b'Content-Type: text/plain; charset=utf-8; format=flowed; DelSp="yes"\n\n'
    text = b"The towpath inspe \nction.\n\n> in June  \n> or July\n-- \nAnn\n"
    assert documents("a.eml", kind + text)[0].text == "The towpath inspection.\n\n> in June or July\n-- \nAnn\n"


def test_the_files_of_an_alternative_that_is_not_read_are_attachments():
    made = EmailMessage()
    made.set_content("The map of the den")
    rich = EmailMessage()
    rich.set_content("<p>The map of the <b>den</b></p>", subtype="html")
    rich.add_attachment("Honey is here.", filename="map.txt")
    made.make_alternative()
    made.attach(rich)
    first, attached = documents("a.eml", bytes(made))
    assert first.text.split() == ["The", "map", "of", "the", "den", "Attachments:", "map.txt"]
    assert attached.text.strip() == "Honey is here."


def test_an_attachment_is_a_document_named_without_its_folders():
    first, attached = documents("b/a.eml", MESSAGE)
    assert (attached.id, attached.path, attached.record) == ("b/a.eml#food.md", "b/a.eml", "food.md")
    assert (attached.title, attached.text) == ("Grüße aus: Food", "# Food\n\nHoney.\n")
    assert "Attachments: food.md, bear.png" in first.text


CALENDAR = b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Den visit\nEND:VEVENT\nEND:VCALENDAR\n"


@pytest.mark.parametrize("kind", [b"text/calendar; method=REQUEST", b'text/calendar; name="Visit 12.2024"'])
def test_an_attachment_without_a_suffix_is_read_by_its_type(kind):
    part = b"Content-Type: " + kind + b"\n\n" + CALENDAR
    name = "Visit 12.2024.ics" if b"name" in kind else "attachment.ics"
    offered = message(b"\n\nSee the invitation.", part).replace(b"multipart/mixed", b"multipart/alternative")
    for data in (message(part), offered, b"Subject: Bears\n" + part):
        text, invitation = documents("a.eml", data)
        assert text.text.endswith(f"Attachments: {name}") and "SUMMARY" not in text.text
        assert (invitation.record, invitation.title, invitation.text) == (f"{name}#1", "Bears: Den visit", "Den visit")


def test_attachments_of_the_same_name_get_different_names():
    data = message(attachment("a.txt", b"one"), attachment("a.txt", b"two"), attachment("c\\a.txt", b"three"))
    assert [one.record for one in documents("a.eml", data)] == [None, "a.txt", "a (2).txt", "a (3).txt"]


def test_the_records_of_an_attachment_have_ids_of_their_own():
    data = message(attachment("a.csv", b"id,text\n1,one\n2,two\n"), attachment("a.xlsx", FILES["a.xlsx"]))
    _, one, two, prices, _ = documents("a.eml", data)
    assert [one.id, two.id, prices.id] == ["a.eml#a.csv#1", "a.eml#a.csv#2", "a.eml#a.xlsx#Prices"]
    assert [one.record, two.record, prices.record] == ["a.csv#1", "a.csv#2", "a.xlsx#Prices"]


def test_the_rows_of_an_attached_table_are_read():
    data = message(attachment("prices.csv", b'food;price\nhoney;3\n;\n"wild\nsalmon";12\n'))
    _, honey, salmon = documents("a.eml", data)
    assert (honey.id, honey.record, honey.title) == ("a.eml#prices.csv#1", "prices.csv", "Bears: prices.csv")
    assert (honey.text, salmon.text) == ("food: honey - price: 3", "food: wild salmon - price: 12")


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.docx", b"x", "cannot be read: broken DOCX"),
        ("a.jsonl", b'{"text": "honey"}\n{broken\n', "has 1 line left out: line 2 is not JSON"),
    ],
)
def test_a_broken_attachment_is_left_out_and_counted(name, data, reason):
    left_out = LeftOut()
    document, *_ = documents("a.eml", message(b"\n\nhello", attachment(name, data)), left_out)
    assert "hello" in document.text
    assert str(left_out).startswith(f"1 part left out: part {name} {reason}")


def test_the_attachments_of_a_message_share_a_budget_of_text():
    texts = [gzip.compress(b"honey " * 100_000) for _ in range(10)]
    left_out = LeftOut()
    data = message(*(attachment(f"{n}.txt.gz", text) for n, text in enumerate(texts)), attachment("end.txt", b"end"))
    assert [one.record for one in documents("a.eml", data, left_out)] == [None, "0.txt.gz", "end.txt"]
    assert left_out.n_lines == 9
    assert str(left_out).startswith("9 parts left out: part 1.txt.gz cannot be read: all attachments")


def test_the_first_attachments_of_a_message_are_read_and_the_others_are_counted():
    left_out = LeftOut()
    images = [attachment(f"{n}.png", b"x") for n in range(30)]
    data = message(*images, *(attachment(f"{n}.txt", b"honey") for n in range(40)))
    assert len(documents("a.eml", data, left_out)) == 21
    assert str(left_out).startswith("20 parts left out: part 20.txt is not one of the first 20 attachments")


def test_a_message_attached_to_a_message_is_text_and_its_attachments_are_read():
    inner = MESSAGE.replace(b"b1", b"c1").replace(b"b2", b"c2")
    encoded = b"Content-Transfer-Encoding: base64\n\n" + encodebytes(inner)
    for part in (
        b"Content-Type: message/rfc822\n\n" + inner,
        b"Content-Type: message/rfc822\n" + encoded,
        b"Content-Type: application/octet-stream; name=a.eml\n" + encoded,
        attachment("a.eml", inner),
    ):
        document, attached = documents("a.eml", message(b"\n\nsee below", part))
        for text in ["see below", "Grüße aus", "From: Bär", "Der Bär schläft."]:
            assert text in document.text
        assert attached.record == "food.md"


def test_messages_that_are_encoded_within_one_another_are_read_to_a_depth():
    data = b"Subject: deepest\n\nhoney"
    for _ in range(3000):
        data = b"Content-Type: application/octet-stream; name=a.eml\n\n" + data
    assert [one.record for one in documents("a.eml", data)] == [None]


def test_a_mailbox_is_read_message_by_message():
    first, attached, second = documents("a.mbox", MAILBOX)
    assert [one.id for one in (first, attached, second)] == ["a.mbox#1", "a.mbox#1/food.md", "a.mbox#2"]
    assert [one.record for one in (first, attached, second)] == ["1", "1/food.md", "2"]
    assert second.text.endswith("Yes.\nFrom my tree.\n")


def test_a_paragraph_of_a_message_in_a_mailbox_may_begin_with_from():
    begins = [b"From a@b.org", b"From - Mon, 1 Jan", b"From MAILER-DAEMON Fri Nov 26 21:40:36 2004", b"From nobody"]
    data = b"".join(one + b"\nSubject: x\n\nHello.\n\nFrom here on, bears sleep.\n\n" for one in begins)
    texts = [one.text.strip() for one in documents("a.mbox", data)]
    assert texts == ["Hello.\n\nFrom here on, bears sleep."] * len(begins)


def test_headers_in_any_encoding_are_read():
    for value in (
        b"=?utf-8?b?QsOkcg==?=",
        b"=?ISO-8859-1?Q?B=E4r?=",
        b"=?utf-8*de?q?B=C3=A4?=\n =?utf-8?q?r?=",
        "Bär".encode(),
        "Bär".encode("latin-1"),
    ):
        assert documents("a.eml", b"Subject: " + value + b"\n\ntext\n")[0].title == "Bär"
    assert documents("a.eml", b"Subject: =?nonsense?b?Qg?= =?utf-8?b?!?=\n\ntext\n")[0].title.startswith("B")


def test_a_message_may_begin_with_the_line_of_its_envelope():
    (found,) = documents("a.eml", b"From ann@example.org Fri Nov 26 21:40:36 2004\nSubject: bears\n\nhello\n")
    assert found.title == "bears" and "hello" in found.text and "2004" not in found.text


@pytest.mark.parametrize(("name", "data"), [("a.eml", b"<html>"), ("a.eml", b""), ("a.mbox", b"Subject: x\n\nhello\n")])
def test_a_file_of_another_kind_is_refused(name, data):
    with pytest.raises(UnreadableError, match=r"not a mail|empty file"):
        documents(name, data)


SENT = MESSAGE.replace(b"MIME-Version: 1.0\n", b"MIME-Version: 1.0\nReceived: " + b"x" * 9000 + b"\n")


@pytest.mark.parametrize("data", [MESSAGE, MESSAGE.replace(b"\n", b"\r\n"), SENT], ids=["unix", "windows", "long"])
def test_a_message_without_a_known_suffix_is_recognised_by_its_headers(data):
    for name in ("1700000000.M1P2.host:2,S", "1700000000.M1P2.den.org", "1700000000.12_3.den.pl", "cur/12"):
        assert documents(name, data)[0].title == "Grüße aus"


def test_a_mailbox_without_suffix_is_recognised_and_its_deleted_messages_are_left_out():
    deleted = MAILBOX.replace(b"From: me@", b"X-Mozilla-Status: 0009\nFrom: me@")
    assert [one.title for one in documents("Inbox", MAILBOX)] == ["Grüße aus", "Grüße aus: Food", "Re: Honey"]
    assert [one.title for one in documents("Inbox", deleted)] == ["Grüße aus", "Grüße aus: Food"]


@pytest.mark.parametrize("text", ["From: Bär\nhoney\n", "Name: bear\nFrom: den\n\nhoney\n", "From here on\n\nhoney\n"])
def test_text_that_is_no_message_is_read_as_text(text):
    assert documents("notes", text.encode())[0].text == text


def test_a_message_of_apple_mail_ends_before_its_property_list():
    (found, _) = documents(
        "7.emlx", b"%d      \n" % len(MESSAGE) + MESSAGE + b"<?xml version='1.0'?><plist>flags</plist>"
    )
    assert found.title == "Grüße aus" and "flags" not in found.text


def test_a_page_that_a_browser_has_saved_is_read_as_a_page():
    page = b"<title>Den</title><h1 id=3D'den'>The d=\nen</h1><p>B=C3=A4r</p>"
    kind = b"Content-Type: text/%b; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n%b"
    data = message(kind % (b"html", page), kind % (b"css", b"p { color: red }"), kind % (b"html", b"<p>advice</p>"))
    (found,) = documents("a.mhtml", data)
    assert found.text == "# The den\n\nBär\n\nadvice"
