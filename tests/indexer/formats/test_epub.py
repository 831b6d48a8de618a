"""Electronic books: the order and the titles of chapters."""

import pytest
from read_bytes import document
from sample_files import bears, book, zipped

from indexer.formats.format import LeftOut, UnreadableError


def read_book(parts, left_out=None):
    return document("a.epub", zipped(parts), left_out=left_out)


def test_chapters_are_in_the_order_of_reading_and_have_the_titles_of_the_contents():
    found = read_book(bears())
    assert found.title == "On bears"
    assert found.text == "# Winter\n\nThey sleep.\n\n# Food\n\nHoney."
    assert [heading.title for heading in found.headings] == ["Winter", "Food"]


def test_the_titles_of_an_older_table_of_contents_are_read():
    parts = bears()
    parts["OEBPS/book.opf"] = parts["OEBPS/book.opf"].replace(
        b'<item id="n" properties="nav" href="nav.xhtml"/>',
        b'<item id="n" media-type="application/x-dtbncx+xml" href="toc%20x.ncx"/>',
    )
    point = "<navPoint><navLabel><text>Cold days</text></navLabel><content src='z.xhtml#a'/></navPoint>"
    declared = '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://example.invalid/ncx.dtd">'
    parts["OEBPS/toc x.ncx"] = f"{declared}<ncx><navMap>{point}</navMap></ncx>".encode()
    assert read_book(parts).text.startswith("# Cold days\n\nThey sleep.")


def test_an_element_that_xml_closes_at_once_hides_nothing():
    text = read_book(book({"a.xhtml": '<script src="x"/><p>one <i/>two<br/>three</p><div/><p>four</p>'}, {})).text
    assert text == "one two\nthree\n\nfour"


def test_a_broken_chapter_is_left_out_and_counted():
    left_out = LeftOut()
    parts = book({"a.xhtml": "<p>a", "b.xhtml": "<div>" * 100_000, "c.xhtml": "<p>c"}, {})
    assert read_book(parts, left_out).text == "a\n\nc"
    assert str(left_out) == "1 chapter left out: chapter 2 cannot be read: HTML that is nested too deep"


@pytest.mark.parametrize("hidden", ["a.xhtml", "font.otf"])
def test_a_book_is_encrypted_only_if_a_chapter_is(hidden):
    parts = book({"a.xhtml": "<p>text"}, {})
    mark = f"<encryption><CipherReference URI='OEBPS/{hidden}'/></encryption>"
    parts["META-INF/encryption.xml"] = mark.encode()
    if hidden == "font.otf":
        assert read_book(parts).text == "text"
    else:
        with pytest.raises(UnreadableError, match="encrypted EPUB"):
            read_book(parts)


def test_an_anchor_names_the_chapter_and_the_element_in_it():
    chapters = {"a.xhtml": '<p>one</p><p id="two">two</p>', "b.xhtml": "", "c.xhtml": '<p id="top">three</p>'}
    found = read_book(book(chapters, {"a.xhtml": "Numbers"}))
    places = [(anchor.name, found.text[anchor.offset :].split()[0]) for anchor in found.anchors]
    assert places == [("OEBPS/a.xhtml", "#"), ("OEBPS/a.xhtml#two", "two"), ("OEBPS/c.xhtml#top", "three")]
