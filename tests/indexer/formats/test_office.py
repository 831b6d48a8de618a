"""Presentations, spreadsheets and texts of Office and OpenDocument: their text, and the places in it."""

import io
from datetime import datetime

import docx
import pytest
from conftest import make_tokenizer
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from read_bytes import documents
from sample_files import (
    FILES,
    OFFICE,
    PACKAGES,
    STYLES,
    open_document,
    presentation,
    relations,
    shape,
    slide,
    talk,
    workbook,
    zipped,
)

from indexer.documents.chunk import Chunker
from indexer.formats.format import LeftOut, UnreadableError
from indexer.formats.spreadsheet import shown_number

SPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MARKUP = "http://schemas.openxmlformats.org/markup-compatibility/2006"


def chunks(document, max_tokens=64):
    return list(Chunker(make_tokenizer(), max_tokens).split(document))


def text_of(word):
    stream = io.BytesIO()
    word.save(stream)
    return documents("a.docx", stream.getvalue())[0].text


@pytest.mark.parametrize("name", ["a.pptx", "a.odp"])
def test_the_slide_of_a_hit_is_its_page(name):
    (document,) = documents(name, FILES[name])
    assert [chunk.page for chunk in chunks(document, 256)] == [1, 2]
    assert "Notes: " in document.text


def test_a_slide_has_its_title_table_groups_and_notes_and_not_its_number():
    (document,) = documents("a.pptx", FILES["a.pptx"])
    assert document.title == "Bears of Europe"
    assert [heading.title for heading in document.headings] == ["Bears of Europe", "Where"]
    expected = "Where\n\n| Country | Bears |\n| Romania | 6000 |\n\nin a group\n\nNotes: the Carpathians"
    assert document.text[document.pages[1] :] == expected


def test_slides_are_in_the_order_in_which_they_are_shown():
    parts = talk()
    parts["ppt/presentation.xml"] = parts["ppt/presentation.xml"].replace(b'r:id="r1"', b'r:id="r9"')
    parts["ppt/presentation.xml"] = parts["ppt/presentation.xml"].replace(b'r:id="r2"', b'r:id="r1"')
    parts["ppt/presentation.xml"] = parts["ppt/presentation.xml"].replace(b'r:id="r9"', b'r:id="r2"')
    (document,) = documents("a.pptx", zipped(parts))
    assert [heading.title for heading in document.headings] == ["Where", "Bears of Europe"]


def test_a_broken_slide_is_left_out_and_counted_and_keeps_its_number():
    left_out = LeftOut()
    slides = [slide(shape("one")), b"<broken", slide(shape("three"))]
    (document,) = documents("a.pptx", zipped(presentation(slides)), left_out)
    assert [(chunk.page, chunk.body) for chunk in chunks(document)] == [(1, "one"), (3, "three")]
    assert str(left_out) == "1 slide left out: slide 2 cannot be read: broken PPTX"


@pytest.mark.parametrize("name", ["a.xlsx", "a.ods"])
def test_a_sheet_is_a_document_with_its_name_and_header_in_the_trail_and_its_rows_as_lines(name):
    prices = documents(name, FILES[name])[0]
    assert (prices.id, prices.record) == (f"{name}#Prices", "Prices")
    *_, last = chunks(prices, 12)
    assert last.trail[0] == "Prices" and last.trail[1].startswith("Name | Price")
    (chunk,) = chunks(prices, 256)
    assert (chunk.line_start, chunk.line_end) == (1, 5)


def test_the_names_of_columns_are_found_below_remarks():
    table = ["Lots of people", "write | notes", "at the | top | or", "Name | Age | Job | Town", "Ann | 7 | cook | Rome"]
    rows = "".join(
        "<row>" + "".join(f'<c t="str"><v>{text}</v></c>' for text in row.split(" | ")) + "</row>"
        for row in [*table, "Bob | 9 | clerk | Bonn"]
    )
    (document,) = documents("a.xlsx", zipped(workbook({"S": rows})))
    assert [one.title for one in document.headings] == ["S", "Name | Age | Job | Town"]


def test_the_anchor_of_a_row_names_its_cells_from_the_first_to_the_last():
    def row(number, *columns):
        cells = "".join(f'<c r="{column}{number}" t="str"><v>{column}</v></c>' for column in columns)
        return f'<row r="{number}">{cells}</row>'

    rows = row(2, "A", "D") + row(5, "Z") + row(9, "B", "AA", "AZ") + row(11, "ZZ", "AAA", "XFD")
    (document,) = documents("a.xlsx", zipped(workbook({"S": rows})))
    (chunk,) = chunks(document, 256)
    lines = chunk.body.split("\n")
    assert [chunk.cells_at(lines.index(text)) for text in lines if text] == ["A2:D2", "Z5", "B9:AZ9", "ZZ11:XFD11"]


def test_only_a_few_of_many_empty_rows_are_kept():
    rows = '<row r="7"><c t="str"><v>a</v></c></row><row r="1048576"><c t="str"><v>b</v></c></row>'
    (document,) = documents("a.xlsx", zipped(workbook({"S": rows})))
    assert document.text == "a" + "\n" * 21 + "b"
    assert document.line_numbers == (7, *range(8, 28), 1_048_576)


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        ('<c s="1"><v>0.5</v></c><c s="1"><v>1e300</v></c><c><v>0.1</v></c>', "12:00 | 1e+300 | 0.1"),
        ("<c><v>3.0000000000000004</v></c>", "3"),
        ("<c><f>A1+1</f><v>3</v></c><c><f>A1</f></c><c t='e'><v>#N/A</v></c>", "3 |  | #N/A"),
        ('<c t="str"><v>a_x000D_\nb</v></c><c t="inlineStr"><is><t>_x005F_x000D_</t></is></c>', "a b | _x000D_"),
        ('<c t="s"><v>7</v></c><c t="s"><v>-1</v></c><c t="s"><v>0</v></c>', "東京"),  # without its pronunciation
    ],
)
def test_values_are_written_as_they_are_shown(cells, shown):
    texts = "<si><t>東京</t><rPh><t>トウキョウ</t></rPh></si>"
    (document,) = documents("a.xlsx", zipped(workbook({"S": f"<row>{cells}</row>"}, texts, STYLES)))
    assert document.text == shown
    assert documents("a.xlsx", FILES["a.xlsx"])[0].text.endswith(
        "Name | Price | Date\nblue paint | 3.5 | 2024-01-01\nTRUE |  | 2024-01-01 06:00 | 7 days"
    )


@pytest.mark.parametrize(
    ("number", "code", "shown"),
    [
        (0.125, "0%", "13%"),
        (0.1234, "0.00%", "12.34%"),
        (1234.5, '#,##0.00\\ "€"', "1,234.50 €"),
        (-1234.5, "[$€-407] #,##0.00;[Red]\\-[$€-407] #,##0.00", "-€ 1,234.50"),
        (-12, '_-* #,##0.00\\ "€"_-;\\-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-', "-12.00 €"),
        (-5, "#,##0;(#,##0)", "-5"),
        (42, "00000", "00042"),
        (12_345_678, '0.0,,"M"', "12345678"),
        (3.14159, "0.0#", "3.14"),
        (41.73, "[h]:mm", "1001:31"),
        (45_000.5, "dd/mm/yyyy hh:mm", "2023-03-15 12:00"),
        (45_000, "d. mmm yyyy", "2023-03-15"),
        (1e300, "0.00", "1e+300"),
        (1e300, "yyyy", "1e+300"),
        (0.3125, "# ?/?", "0.3125"),
        (12_345.678, "0.00E+00", "12345.678"),
        (5, ";;;", "5"),
        (5, "", "5"),
    ],
)
def test_numbers_are_written_in_the_format_of_their_cell(number, code, shown):
    assert shown_number(number, code, datetime(1899, 12, 30)) == shown


def test_repeated_rows_and_cells_are_written_once_and_keep_their_numbers():
    (document,) = documents("a.ods", FILES["a.ods"])
    assert document.text == "Name | Price\n\n\nblue paint | 3.5\nx"
    assert document.line_numbers == (1, 2, 3, 4, 5)


def test_a_text_keeps_its_structure_and_loses_deleted_text():
    (document,) = documents("a.odt", FILES["a.odt"])
    assert (document.title, [heading.title for heading in document.headings]) == ("On bears", ["Bears"])
    for part in ["They sleep.\n\nin winter\n\n", "- one\n  - inner\n- two", "| Country | Bears |"]:
        assert part in document.text
    assert "deleted" not in document.text


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_a_package_without_its_parts_is_broken(name):
    kind = name.removeprefix("a.").upper()
    for data in (b"PK", zipped({}), FILES[name][:-60]):
        with pytest.raises(UnreadableError, match=f"broken {kind}"):
            documents(name, data)


@pytest.mark.parametrize("name", ["a.pptx", "a.xlsx", "a.docx", "a.odt", "a.ods", "a.odp"])
def test_an_encrypted_file_is_said_to_be_encrypted(name):
    data = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000)
    if name.startswith("a.od"):
        entry = b'<manifest:manifest xmlns:manifest="m"><manifest:encryption-data/></manifest:manifest>'
        data = zipped({**PACKAGES[name], "META-INF/manifest.xml": entry})
    with pytest.raises(UnreadableError, match="encrypted"):
        documents(name, data)


def test_the_text_of_a_chart_is_read_without_its_numbers():
    def cached(name, *texts):
        points = "".join(f"<c:pt><c:v>{text}</c:v></c:pt>" for text in texts)
        return f"<c:{name}><c:strRef><c:strCache>{points}</c:strCache></c:strRef></c:{name}>"

    title = "<c:title><c:tx><c:rich><a:p><a:r><a:t>Honey sold</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    values = "<c:val><c:numRef><c:numCache><c:pt><c:v>4.3</c:v></c:pt></c:numCache></c:numRef></c:val>"
    series = "".join(
        f"<c:ser>{cached('tx', name)}{cached('cat', 'Spring', 'Autumn')}{values}</c:ser>"
        for name in ("Lime", "Heather")
    )
    series += "<c:ser><c:tx><c:v>Clover</c:v></c:tx></c:ser>"
    names = 'xmlns:c="urn:c" xmlns:a="urn:a"'
    chart = f"<c:chartSpace {names}><c:chart>{title}<c:plotArea>{series}</c:plotArea></c:chart></c:chartSpace>"
    extra = {
        "ppt/slides/_rels/slide1.xml.rels": relations(("chart", "../charts/chart1.xml")),
        "ppt/charts/chart1.xml": chart.encode(),
    }
    (document,) = documents("a.pptx", zipped(presentation([slide(shape("Sales", "title"))], extra)))
    assert document.text == "Sales\n\nHoney sold\nLime | Heather | Clover\nSpring | Autumn"


def test_the_text_of_a_box_follows_its_paragraph():
    box = "<draw:frame><draw:text-box><text:p>Help</text:p></draw:text-box></draw:frame>"
    body = f"<text:p>{box}Right of it{box}, and below</text:p>"
    (document,) = documents("a.odt", zipped(open_document("text", body)))
    assert document.text == "Right of it, and below\n\nHelp\n\nHelp"


SHOWN = '<draw:frame><draw:object xmlns:x="urn:x" x:href="./A"/></draw:frame>'
CELL = "<table:table-row><table:table-cell><text:p>The bear</text:p>{}</table:table-cell></table:table-row>"


@pytest.mark.parametrize(
    ("suffix", "kind", "body"),
    [
        ("odt", "text", f"<text:p>The bear</text:p><text:p>{SHOWN}</text:p>"),
        ("ods", "spreadsheet", f'<table:table table:name="S">{CELL.format(SHOWN)}</table:table>'),
        ("odp", "presentation", f"<draw:page><text:p>The bear</text:p>{SHOWN}</draw:page>"),
    ],
)
def test_a_broken_object_of_opendocument_is_left_out_and_counted(suffix, kind, body):
    left_out = LeftOut()
    data = zipped({**open_document(kind, body), "A/content.xml": b"<unclosed"})
    (document,) = documents(f"a.{suffix}", data, left_out)
    assert "The bear" in document.text
    assert str(left_out) == f"1 part left out: part A cannot be read: broken {suffix.upper()}"


def test_a_chart_of_opendocument_has_its_titles_series_and_categories_without_its_numbers():
    def cell(text, kind="string"):
        return f'<table:table-cell office:value-type="{kind}"><text:p>{text}</text:p></table:table-cell>'

    rows = [cell("") + cell("Bears") + cell("Foxes"), cell("May") + cell("7", "float") + cell("9", "float")]
    table = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    axis = "<c:axis><c:title><text:p>Month</text:p></c:title></c:axis>"
    title = "<c:title><text:p>Seen</text:p></c:title>"
    chart = f'<c:chart xmlns:c="urn:c">{title}{axis}<table:table>{table}</table:table></c:chart>'
    body = '<draw:page><draw:frame><draw:object xmlns:x="urn:x" x:href="./Object 1"/></draw:frame></draw:page>'
    inside = {"Object 1/content.xml": open_document("chart", chart)["content.xml"]}
    (document,) = documents("a.odp", zipped(open_document("presentation", body) | inside))
    assert document.text == "Seen\nMonth\nBears | Foxes\nMay"


def test_footnotes_and_boxes_of_a_word_document_follow_their_paragraph():
    word = docx.Document()
    paragraph = word.add_paragraph("Bears sleep.")
    box = "<w:txbxContent><w:p><w:r><w:t>a box</w:t></w:r></w:p></w:txbxContent>"
    alternatives = f'<mc:AlternateContent xmlns:mc="{MARKUP}"><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}'
    run = f'<w:r {SPACE}><w:footnoteReference w:id="2"/>{alternatives}</mc:Fallback></mc:AlternateContent></w:r>'
    paragraph._p.append(parse_xml(run))
    word.add_paragraph("They eat.")
    note = f'<w:footnotes {SPACE}><w:footnote w:id="2"><w:p><w:r><w:t>In winter.</w:t></w:r></w:p></w:footnote>'
    content = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    part = Part(PackURI("/word/footnotes.xml"), content, f"{note}</w:footnotes>".encode(), word.part.package)
    word.part.relate_to(part, f"{OFFICE}/footnotes")
    assert text_of(word) == "Bears sleep.\n\nIn winter.\n\na box\n\nThey eat."


def test_a_large_initial_is_a_part_of_the_word_that_it_begins():
    word = docx.Document()
    word.add_paragraph("O")._p.get_or_add_pPr().append(parse_xml(f'<w:framePr {SPACE} w:dropCap="drop" w:lines="3"/>'))
    word.add_paragraph("nce upon a bear.")
    assert text_of(word) == "Once upon a bear."


def test_the_numbers_of_clauses_and_headings_are_read():
    word = docx.Document()
    kinds = enumerate([("decimal", "%1."), ("decimal", "%1.%2"), ("lowerLetter", "(%3)"), ("upperRoman", "%4")])
    levels = "".join(
        f'<w:lvl w:ilvl="{n}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/><w:lvlText w:val="{shown}"/></w:lvl>'
        for n, (kind, shown) in kinds
    )
    numbering = word.part.numbering_part.element
    numbering.insert(0, parse_xml(f'<w:abstractNum {SPACE} w:abstractNumId="99">{levels}</w:abstractNum>'))
    numbering.append(parse_xml(f'<w:num {SPACE} w:numId="99"><w:abstractNumId w:val="99"/></w:num>'))
    number = f'<w:numPr {SPACE}><w:ilvl w:val="%s"/><w:numId w:val="99"/></w:numPr>'
    word.styles["Heading 1"].element.get_or_add_pPr().append(parse_xml(number % 0))
    for depth, text in enumerate(["Terms", "Payment", "in bears", "or honey"]):
        made = word.add_paragraph(text, style="Heading 1" if depth == 0 else None)
        if depth:
            made._p.get_or_add_pPr().append(parse_xml(number % depth))
    word.add_paragraph("plain")
    word.add_paragraph("or foxes")._p.get_or_add_pPr().append(parse_xml(number % 2))
    word.add_heading("End", 1)
    word.add_paragraph("Notice")._p.get_or_add_pPr().append(parse_xml(number % 1))
    assert text_of(word).split("\n\n") == [
        "# 1. Terms", "1.1 Payment", "(a) in bears", "I or honey", "plain", "(b) or foxes", "# 2. End", "2.1 Notice",
    ]  # fmt: skip
