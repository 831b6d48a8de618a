import json

import pytest
from pdf_pages import column, pdf_of
from read_bytes import read_bytes
from sample_files import workbook, zipped

from indexer.formats.format import LeftOut

PRIVATE = (
    f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{'MIIEabc+' * 9}\n-----END RSA PRIVATE KEY-----\n"
)


CUT = f"-----BEGIN PRIVATE KEY-----\n{'MIIEabc+' * 8}\n{'MIIEabc+' * 8}\n"  # without its end


@pytest.mark.parametrize(
    ("name", "data", "text", "said"),
    [
        ("a.md", f"# A\n\nbefore\n{PRIVATE}after\n", "# A\n\nbefore\n…\nafter\n", "in line 4"),
        ("a.md", f"---\ntags: b\n---\n{PRIVATE}after\n", "tags: b\n…\nafter\n", "in line 4"),
        ("a.csv", f'who,what\nAnn,"{PRIVATE}"\n', "who: Ann - what: …", "in line 2"),
        ("a.html", f"<p>before<pre>{PRIVATE}</pre>", "before\n\n```\n…\n```", "in the text"),
        ("a.log", f"before\n{CUT}and more\n", "before\n…\nand more\n", "in line 2"),
        ("a.py", f'x = 1\ny = """{PRIVATE}"""\n', 'x = 1\ny = """…\n"""\n', "in line 2"),
    ],
)
def test_a_private_key_within_a_text_is_left_out_and_said(name, data, text, said):
    left_out = LeftOut()
    (document,) = read_bytes(name, data.encode(), left_out=left_out)
    assert (document.text, str(left_out)) == (text, f"1 private key left out: private key {said} is not read")
    assert "MIIE" in next(read_bytes(name, data.encode(), is_wanted=True)).text


def test_a_private_key_over_rows_or_pages_is_left_out():
    lines = ["before", *PRIVATE.splitlines(), "after"]
    rows = "".join(f'<row><c t="inlineStr"><is><t>{line}</t></is></c></row>' for line in lines)
    pages = [column(40, 700, lines[:5]), column(40, 700, lines[5:-1]), column(40, 700, lines[-1:])]
    for name, data in (("a.xlsx", zipped(workbook({"S": rows}))), ("a.pdf", pdf_of(pages))):
        (document,) = read_bytes(name, data, left_out=(left_out := LeftOut()))
        assert document.text.split() == ["before", "…", "after"] and left_out.n_lines == 1, name
        places = document.pages or [one.offset for one in document.anchors]
        assert document.text[places[-1] :] == "after" and len(places) == (3 if document.pages else 6)


def test_a_private_key_in_a_title_or_a_field_is_left_out():
    key = " ".join(PRIVATE.split("\n")).strip()
    (document,) = read_bytes("a.md", f"---\ntitle: {key}\nsecret: {key}\n---\nbody\n".encode())
    assert document.title == "…" and ("secret", "…") in document.fields


@pytest.mark.parametrize(
    "text",
    [
        "A file begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.\n",
        "-----BEGIN PRIVATE KEY----- is the first line of a file in PEM.\n",
        f"It begins with -----BEGIN PRIVATE KEY-----, and\n{'the quokka sleeps. ' * 50}\n-----END PRIVATE KEY-----\n",
    ],
)
def test_what_only_speaks_of_private_keys_is_read(text):
    assert next(read_bytes("a.txt", text.encode())).text == text


BODY = [f"{n:02}MIIEvQIBADAN" * 4 + "+Ab/cdE9" for n in range(10, 35)]  # of full length
MARKS = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
WHOLE = [MARKS[0], *BODY, MARKS[1]]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.md", "\n".join(["before", *WHOLE, "after"])),
        ("a.patch", "\n".join(["before", *(f"-{line}" for line in WHOLE), "after"])),
        ("a.yaml", 'b: before\nkey: "' + "\\n".join(WHOLE) + '"\nc: after\n'),
        ("a.csv", "what,key\nbefore," + "\\n".join(WHOLE) + "\nafter,x\n"),
        ("a.csv", "what,key\nbefore," + "\\n".join(WHOLE[:3]) + "\nafter,x\n"),
        ("a.jsonl", json.dumps({"b": "before", "key": "\n".join(WHOLE), "c": "after"})),
        ("a.md", '---\nb: before\nkey: "' + "\\n".join(WHOLE) + '"\nc: after\n---\nafter\n'),
        ("a.txt", "\n".join(["before", *WHOLE, "after"]).replace("-----", "\u2013" * 5)),
        ("a.txt", "\n".join(["before", MARKS[0], "Proc-Type: 4,ENCRYPTED", *BODY[:5]])),
        ("a.txt", "\n".join(["before", "Private-Lines: 3", *BODY[:3], "after"])),
    ],
)
def test_a_private_key_of_full_length_is_left_out_and_said(name, data):
    documents = [*read_bytes(name, data.encode(), left_out=(left_out := LeftOut()))]
    shown = " ".join(f"{one.title} {one.text} {one.fields}" for one in documents)
    assert "MIIE" not in shown and "before" in shown and "\n\n\n" not in shown
    assert left_out.n_lines == 1 and left_out.unit == "private key"
    assert ("after" in data) == ("after" in shown)


def test_lines_below_a_private_key_keep_their_numbers():
    (document,) = read_bytes("a.txt", "\n".join(["before", *WHOLE, "after", "end"]).encode())
    assert (document.text, document.line_numbers) == ("before\n…\nafter\nend", (1, 2, 29, 30))
