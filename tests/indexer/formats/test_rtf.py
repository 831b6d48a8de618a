"""Rich Text Format: characters, headings, tables, and what is not text."""

import pytest
from read_bytes import document
from sample_files import RICH_TEXT

from indexer.formats.format import UnreadableError


def read_rtf(data):
    return document("a.rtf", data)


def test_a_file_becomes_markdown_with_its_title_headings_and_tables():
    found = read_rtf(RICH_TEXT)
    assert (found.title, [heading.title for heading in found.headings]) == ("On bärs", ["Bears"])
    assert found.text == (
        "# Bears\n\nThey sleep in the wörld for €5. Да\n\n # no heading\n\nCountry | Bears\nRomania | 6000\n\na link"
    )


@pytest.mark.parametrize(
    ("coded", "text"),
    [
        (rb"\u8364?x", "€x"),
        (rb"\u8364\'80x", "€x"),
        (rb"{\uc2\u8364ab}x", "€x"),
        (rb"{\uc0\u8364}x", "€x"),
        (rb"{\u8364}x", "€x"),
        (rb"\u-3844?", "\uf0fc"),
        (rb"\u-10179?\u-8704?", "😀"),
        (rb"a\{b\}\\c\~d\_e\-f", r"a{b}\c d-ef"),
        (rb"\ldblquote a\rdblquote\emdash b", "“a”—b"),
        (rb"a\line b\tab c", "a\nb\tc"),
        (b"a\r\nb\\\r\nc", "ab\n\nc"),
        (rb"a{\footnote note}b", "ab\n\nnote"),
        (rb"a{\*\unknown hidden}b{\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt in a shape}}}", "ab\n\nin a shape"),
        (rb"a{\pict\bin5 }}{{\x}b", "ab"),
        (rb"{\f1 \'82\'a0}", "あ"),
    ],
)
def test_coded_characters_are_decoded(coded, text):
    assert read_rtf(rb"{\rtf1\ansi{\fonttbl{\f1\fcharset128 x;}}" + coded + b"}").text == text


def test_a_file_of_another_kind_is_refused():
    with pytest.raises(UnreadableError, match="not an RTF file"):
        read_rtf(b"{\\html")
