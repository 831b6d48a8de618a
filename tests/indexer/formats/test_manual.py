"""Pages of the manual: the macros of man and mdoc, escapes, tables, and the names of the files."""

import gzip

import pytest
from read_bytes import document

from indexer.formats.registry import format_of, is_known

PAGE = r"""'\" t
.\" A comment
.de CS
.RS
.nf
..
.ds C+ C++
.ie n \{\
.    ds -- \(*W-
.\}
.TH CAT 1ssl "2026-01-01" "moon 1.0"
.SH NAME
cat \- feed
.B "the cat"
.SH "SYNOPSIS"
.B cat
.RB [ \-\-dish
.IR name ]
.SH
DESCRIPTION
The \fBcat\fR sleeps\(emmostly.
.SS Options of \*(C+
.TP
\fB\-\-dish\fR=\fIname\fR
Use this dish.
.IP "\-v" 4
Be loud.
.PP
# not a heading
.CS
  if (moon) \e
    \&.howl()
.CE
.TS
tab(;) allbox;
l l.
Time;Food
_
noon;T{
fish
.B and rice
T}
.TE
"""


@pytest.mark.parametrize("request_line", [".de XX", ".am XX", ".ig"])
def test_a_definition_is_left_out_and_one_without_an_end_hides_no_text(request_line):
    page = f".TH CAT 1\n{request_line}\nhidden\n..\n.SH NAME\ncat \\- feed the cat\n{request_line}\nthe end\n"
    text = document("cat.1", page).text
    assert "hidden" not in text and "feed the cat" in text and "the end" in text


def test_the_macros_of_a_page_become_headings_paragraphs_and_code():
    found = document("cat.1ssl", PAGE)
    assert found.title == "cat - feed the cat"
    assert [(one.level, one.title) for one in found.headings] == [
        (1, "NAME"),
        (1, "SYNOPSIS"),
        (1, "DESCRIPTION"),
        (2, "Options of C++"),
    ]
    assert found.text.partition("# SYNOPSIS\n\n")[2] == (
        "cat\n[--dish\nname]\n\n# DESCRIPTION\n\nThe cat sleeps\u2014mostly.\n\n## Options of C++\n\n"
        "--dish=name\nUse this dish.\n\n-v\nBe loud.\n\n # not a heading\n\n"
        "```\n  if (moon) \\\n    .howl()\n```\n\nTime | Food\nnoon\nfish\nand rice\n"
    )


def test_a_line_of_a_page_has_the_number_of_its_line_in_the_file():
    found = document("cat.1ssl", PAGE)
    lines = PAGE.split("\n")
    assert found.has_lines and len(found.line_numbers) == found.text.count("\n") + 1
    numbers = dict(zip(found.text.split("\n"), found.line_numbers, strict=True))
    assert lines[numbers["Use this dish."] - 1] == "Use this dish."
    assert lines[numbers["# DESCRIPTION"] - 1] == "DESCRIPTION"


def test_the_macros_of_mdoc_can_call_each_other():
    page = ".Dd May 1\n.Dt CAT 1\n.Sh NAME\n.Nm cat\n.Nd feed it\n.Sh SYNOPSIS\n.Nm\n.Op Fl v Ar name\n.Bl -tag\n"
    page += ".It Fl v , Cm loud\nSee\n.Xr dog 1 ,\nor\n.Dq the Pa moon .\n.El\n.Bd -literal\n  a  b\n.Ed\n"
    found = document("cat.1", page)
    assert found.title == "cat - feed it"
    assert found.text.partition("# SYNOPSIS\n\n")[2] == (
        "cat\n-v name\n\n-v, loud\nSee\ndog 1,\nor\nthe moon.\n\n```\n  a  b\n```\n"
    )


@pytest.mark.parametrize("name", ["a.1", "a.3tcl", "a.3pm", "a.1ssl", "a.7posix", "a.n"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_page_is_known_by_the_suffix_of_any_section(name, packed):
    shown = f"{name}.gz" if packed else name
    assert is_known(shown) or name == "a.1"
    assert type(format_of(shown)).__name__ == ("Compressed" if packed else "PlainText")
    found = document(shown, gzip.compress(PAGE.encode()) if packed else PAGE)
    assert (found.id, found.title) == (shown, "cat - feed the cat")


@pytest.mark.parametrize(("name", "text"), [("a.log.1", "the cat\n.TH is here"), ("a.txt", PAGE), ("read.1st", "cat")])
def test_a_file_that_is_not_a_page_is_plain_text(name, text):
    found = document(name, text)
    assert (found.text, found.title, found.layout) == (text, name, "text")


def test_a_page_that_only_names_another_file_has_no_text():
    assert document("cats.1", b".so man1/cat.1\n").text.strip() == ""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"\f(CWa\fR \f[B]b\fP \s-2c\s0 \s+1d", "a b c d"),
        (r"a\-b \e \\ \(co \[u00E9] \['e] \(aqx\(aq", "a-b \\ \\ \u00a9 \u00e9 \u00e9 'x'"),
        (r"\h'-04'\(bu\h'+03'x\c", "\u2022x"),
        (r"\&.a \" a comment", ".a "),
        (r"\*(C+ \*[mine] \*R \*(no", "C++ cat \u00ae "),
        ("\\", ""),
    ],
)
def test_escapes_become_characters(source, expected):
    assert document("foo.1", f".TH FOO 1\n.ds mine cat\n.ds C+ C++\n.nf\nx{source}").text == f"```\nx{expected}"


def test_the_text_for_a_terminal_is_read_and_that_for_a_printer_is_not():
    text = r'''.TH FOO 1
.SH OPTIONS
.ie n .IP """\-\-zonk"" quagga" 4
.el .IP "\f(CW\-\-printed\fR" 4
Does it.
.ie t .IP "\-\-printed" 4
.el .IP "\-\-shown" 4
.ie n \{\
kangaroo
.\}
.el \{\
printed
.\}
.if n .if n .if n wallaby
.if \n(.g printed
The end.'''
    page = document("foo.1", text).text
    for word in ('"--zonk" quagga', "Does it.", "--shown", "kangaroo", "wallaby", "The end."):
        assert word in page
    assert "printed" not in page
