"""The layout of pages: order of reading, headers, tables, headings and hyphens."""

import time
from dataclasses import replace
from itertools import chain, pairwise

import pytest
from pdf_pages import INFO, Line, column, from_right, pdf_of, stream
from read_bytes import read_bytes

from indexer.formats.format import LeftOut
from indexer.formats.pdf import MAX_FILES, MAX_NOTES

LEFT = [f"the left column has its own line {n:02}" for n in range(12)]
RIGHT = [f"and in the right one there is line {n:02}" for n in range(12)]
LINES = [f"this line of the only column has number {n:02}" for n in range(12)]


def document_of(pages, **options):
    data = pdf_of(pages, **options)
    return next(read_bytes("a.pdf", data))


def lines_of(pages, **options):
    return [line for line in document_of(pages, **options).text.split("\n") if line]


def row_by_row(*columns):
    return [line for lines in zip(*columns, strict=True) for line in lines]


LINES_AT_TOP = column(50, 700, LINES)
THREE = [[f"in the column {name} is line {n:02}" for n in range(8)] for name in "abc"]


@pytest.mark.parametrize("drawn", [lambda *columns: [*chain(*columns)], row_by_row], ids=["by columns", "row by row"])
@pytest.mark.parametrize(
    ("texts", "places"),
    [((LEFT, RIGHT), (50, 320)), (THREE, (40, 230, 420))],
    ids=["two", "three"],
)
def test_columns_are_read_one_after_the_other(drawn, texts, places):
    page = drawn(*(column(x, 700, text) for x, text in zip(places, texts, strict=True)))
    assert lines_of([page]) == [line for text in texts for line in text]


def test_lines_across_both_columns_divide_them():
    across = "this line is so long that it reaches over both of the columns, from the left margin to the right one"
    page = [
        Line(50, 750, across + " (1)"),
        *row_by_row(column(50, 720, LEFT[:6]), column(320, 720, RIGHT[:6])),
        Line(50, 600, across + " (2)"),
        *row_by_row(column(50, 570, LEFT[6:]), column(320, 570, RIGHT[6:])),
        Line(50, 450, across + " (3)"),
    ]
    expected = [f"{across} (1)", *LEFT[:6], *RIGHT[:6], f"{across} (2)", *LEFT[6:], *RIGHT[6:], f"{across} (3)"]
    assert lines_of([page]) == expected


def test_an_index_in_columns_is_read_column_by_column():
    entries = [[f"{word}{n}, {n}" for n in range(9)] for word in ("cat", "dog")]
    assert lines_of([[*column(50, 700, entries[0]), *column(320, 700, entries[1])]]) == entries[0] + entries[1]


def test_a_page_that_is_drawn_from_the_bottom_to_the_top_is_read_from_the_top():
    assert lines_of([column(50, 700, LINES)[::-1]]) == LINES


def test_rows_of_a_table_stay_together():
    cells = [["Animal", "Sound", "Legs"], ["cat", "purr", "4"], ["dog", "bark loudly", "4"], ["bird", "sing", "2"]]
    places = (50, 200, 400)
    table = [Line(places[i], 600 - 14 * n, cell) for n, row in enumerate(cells) for i, cell in enumerate(row)]
    page = [*column(50, 700, LINES[:3]), *table, *column(50, 500, LINES[3:6])]
    text = document_of([page]).text
    rows = "Animal Sound Legs\ncat purr 4\ndog bark loudly 4\nbird sing 2"
    assert text == "\n".join(LINES[:3]) + f"\n\n{rows}\n\n" + "\n".join(LINES[3:6])


def test_wide_blanks_in_lines_of_columns_do_not_divide_phrases():
    words = [[f"{word}{n}" for word in ("counter", "revolution", "wide", "blanks")] for n in range(20)]
    page = [Line(50 + 70 * i, 700 - 12 * n, word) for n, row in enumerate(words) for i, word in enumerate(row)]
    assert lines_of([page]) == [" ".join(row) for row in words]


def test_a_long_table_is_not_read_column_by_column():
    rows = [[f"name{n}()", f"returns the value with the number {n} of the list"] for n in range(20)]
    page = [Line(50 + 250 * i, 700 - 12 * n, cell) for n, row in enumerate(rows) for i, cell in enumerate(row)]
    assert lines_of([page]) == [" ".join(row) for row in rows]


@pytest.mark.parametrize(
    ("printed", "read"),
    [
        ("DLROW OLLEH", "HELLO WORLD"),
        ("FED open office 7.2 CBA", "ABC open office 7.2 DEF"),
        ("FED 12.03.2024 CBA", "ABC 12.03.2024 DEF"),
        ("30 25 CBA", "ABC 25 30"),
        ("user@example.com CBA", "ABC user@example.com"),
        ("(FED) CBA", "ABC (DEF)"),
        ("FED open (file b) CBA", "ABC open (file b) DEF"),
        ("FED (open file) CBA", "ABC (open file) DEF"),
        ("an english line", "an english line"),
    ],
)
def test_a_page_from_right_to_left_has_the_order_of_reading(printed, read):
    others = column(50, 600, ["egap eht fo senil rehto"] * 5, font="F4")
    assert lines_of([[*mixed(printed), *others]])[0] == mixed_text(read)


def test_the_raised_number_of_a_footnote_is_no_part_of_a_word():
    marked = [Line(50, 400, "the cat", 10), Line(80, 404, "12", 5), Line(50, 380, "the gas", 10), Line(83, 378, "2", 5)]
    assert lines_of([[*column(50, 700, LINES), *marked]])[-2:] == ["the cat 12", "the gas2"]
    others = {("of it", 21): "3", ("in 2024", 35): "14", ("the end", 35): "i", ("8 km", 22): "2"}
    for number, ((word, width), mark) in enumerate(others.items()):
        marked += [Line(50, 360 - 20 * number, word, 10), Line(50 + width, 364 - 20 * number, mark, 5)]
    read = ["of it 3", "in 2024 14", "the end i", "8 km2"]
    assert lines_of([[*column(50, 700, LINES), *marked]])[-4:] == read
    footnote = [Line(50, 103, "12", 5), Line(55.6, 100, "Kittens too", 8), Line(50, 80, "3rd cat", 8)]
    assert lines_of([[*column(50, 700, LINES), *footnote]])[-2:] == ["12 Kittens too", "3rd cat"]


def test_letters_that_a_browser_prints_in_arabic_have_the_order_of_reading():
    marked = "/Span <</ActualText <FEFF0628>>> BDC (b) Tj EMC (cdeg) Tj ( ) Tj (hij) Tj"
    drawn = stream(f"BT /F5 16 Tf 100 700 Td /ReversedChars BMC {marked} EMC ET")
    document = document_of([[]], others={INFO + 2: drawn})
    assert document.text == f"{from_right('jih', 'F5')} {from_right('gedcb', 'F5')}"


def test_words_from_right_to_left_on_a_page_from_left_to_right_have_the_order_of_reading():
    lines = {
        "the words DLROW OLLEH mean two things (here)": "the words HELLO WORLD mean two things (here)",
        "FED open (b) CBA IHG": "GHI ABC open (b) DEF",
        "title FED CBA": "title ABC DEF",
    }
    for printed, read in lines.items():
        assert lines_of([[*mixed(printed), *column(50, 600, LINES)]])[0] == mixed_text(read)


def mixed(printed):
    """A line of which the words in capitals are printed in Hebrew letters."""
    words = enumerate(printed.split())
    return [Line(50 + 120 * n, 700, word.lower(), font="F4" if word != word.lower() else "F1") for n, word in words]


def mixed_text(read):
    return " ".join(from_right(word.lower()) if word != word.lower() else word for word in read.split())


def test_headers_footers_and_page_numbers_are_left_out():
    header = Line(50, 780, "The Book of Cats")
    texts = [[f"{name} {line}" for line in LINES] for name in ("one", "two", "six")]
    pages = [
        [header, Line(500, 780, f"{n + 9}"), *column(50, 700, text), Line(300, 20, str(n))]
        for n, text in enumerate(texts)
    ]
    document = document_of(pages)
    assert [line for line in document.text.split("\n") if line] == [line for text in texts for line in text]
    assert len(document.pages) == 3


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("Minutes of meeting {}", "Account 00{}1"),
        ("Date: {}.03.2026", "Sum: {}.50"),
        ("Walrus Ltd   Ticket {}", "No. {}"),
    ],
)
def test_rows_at_the_edges_whose_numbers_differ_are_kept(first, last):
    numbers = [41, 42, 43, 44]
    pages = [[Line(50, 780, first.format(n)), *column(50, 700, LINES), Line(50, 20, last.format(n))] for n in numbers]
    kept = [line for line in lines_of(pages) if line not in LINES]
    expected = [" ".join(text.format(n).split()) for n in numbers for text in (first, last)]
    assert kept == expected


def test_numbers_of_pages_in_every_form_are_left_out():
    forms = ["{n}", "- {n} -", "Page {n} of 9", "Seite {n}/9", "A-{n}", "{n} | Page", "Book | {n}", "Cats, page {n}"]
    texts = [[f"{name} {line}" for line in LINES] for name in ("one", "two", "six", "ten")]
    for form in forms:
        pages = [[*column(50, 700, text), Line(50, 20, form.format(n=n))] for n, text in enumerate(texts, start=9)]
        assert lines_of(pages) == [line for text in texts for line in text], form


def test_pages_that_are_all_alike_are_read():
    assert lines_of([[Line(50, 700, "Admit one")]] * 4) == ["Admit one"] * 4


def test_ligatures_of_fonts_without_names_are_letters():
    assert lines_of([[Line(50, 700, "\x1cne o\x1eces a\x1fuent o\x1b")]]) == ["fine offices affluent off"]


def test_lam_and_alef_in_one_sign_have_the_order_of_reading():
    signs = {1002: stream("2 beginbfchar <61> <06440627> <62> <0645> endbfchar 1 beginbfchar <63> <0633> endbfchar")}
    assert document_of([[Line(50, 700, "bac", font="F5")]], others=signs).text == "\u0633\u0644\u0627\u0645"


def test_the_text_inside_of_a_header_is_kept_even_if_it_is_repeated():
    pages = [
        [Line(50, 780, text), Line(50, 700, "the same"), *column(50, 600, LINES)] for text in ("one", "two", "six")
    ]
    assert lines_of(pages).count("the same") == 3


def test_large_lines_are_headings_whose_level_follows_from_their_size():
    page = [
        Line(50, 750, "The Book", 24),
        Line(50, 700, "On cats", 16),
        *column(50, 670, LINES[:4]),
        Line(50, 600, "On dogs, and on all", 16),
        Line(50, 580, "of the other animals", 16),
        *column(50, 550, LINES[4:]),
    ]
    document = document_of([page])
    found = [(heading.level, heading.title) for heading in document.headings]
    assert found == [(1, "The Book"), (2, "On cats"), (2, "On dogs, and on all of the other animals")]
    for heading in document.headings:
        assert document.text.startswith(heading.title, heading.offset)
    assert document.title == "The Book"
    assert document_of([page], title="Animals").title == "Animals"
    assert document_of([page], title="(anonymous)").title == "The Book"


def test_titles_of_the_outline_are_headings_of_its_levels_in_any_print():
    pages = [
        [Line(50, 750, "Chapter 1", 20), Line(50, 720, "On all cats", 20), *column(50, 680, LINES)],
        [Line(50, 750, "1.1 Their", font="F3"), Line(50, 738, "food", font="F3"), *column(50, 700, LINES)],
        [Line(50, 750, "On all cats"), *column(50, 700, LINES), Line(50, 500, "Bold", font="F3"), Line(50, 480, "x")],
    ]
    document = document_of(pages, outline=[("On all cats", 0, [("Their food", 1, [("Fish", 2, [])])])])
    found = [(heading.level, heading.title) for heading in document.headings]
    assert found == [(1, "Chapter 1 On all cats"), (2, "1.1 Their food")]


def test_bold_lines_of_their_own_are_headings_if_there_is_no_outline():
    page = [
        Line(50, 750, "The Book", 24),
        Line(50, 700, "1.1 On cats", font="F3"),
        *column(50, 680, LINES[:4]),
        Line(50, 640, "Figure 1: A cat", 14),
        Line(50, 600, "Note", font="F3"),
        *column(50, 580, LINES[4:7]),
        Line(50, 500, "This whole paragraph is printed in bold,", font="F3"),
        Line(50, 488, "because it is important,", font="F3"),
        Line(50, 476, "and has three lines", font="F3"),
        *column(50, 450, LINES[7:10]),
        Line(50, 380, "nothing is below", font="F3"),
    ]
    found = [(heading.level, heading.title) for heading in document_of([page]).headings]
    assert found == [(1, "The Book"), (2, "1.1 On cats")]


def test_a_heading_at_the_same_height_of_each_chapter_is_kept():
    pages = [[Line(50, 750, f"Chapter {n}", 20), *column(50, 700, LINES)] for n in range(5)]
    assert [heading.title for heading in document_of(pages).headings] == [f"Chapter {n}" for n in range(5)]


def test_a_word_that_a_line_end_divides_is_joined():
    lines = [
        "the exam-",
        "ple of CAPI-",
        "TALS and of well-",
        "known Kirby-",
        "Bauer tests, well-known in 1939-",
        "1945",
    ]
    text = ["the example of CAPITALS and of well-known Kirby-Bauer tests, well-known in 1939-", "1945"]
    assert lines_of([column(50, 700, lines)]) == text


@pytest.mark.parametrize(
    ("divided", "read"),
    {
        "AB- QX DNA- binding e- mail vitamin- b": "AB-QX DNA-binding e-mail vitamin-b",
        "twenty- five Twenty- one non- ferrous self- made": "twenty-five Twenty-one non-ferrous self-made",
        "foo.example/a- b/page https://example.org/some- thing": "foo.example/a-b/page https://example.org/some-thing",
        "jean- paul@example.org annual- report.pdf": "jean-paul@example.org annual-report.pdf",
        "CAPI- TALS non- sense well- ness l'u- nit\u00e0": "CAPITALS nonsense wellness l\u2019unit\u00e0",
    }.items(),
)
def test_a_word_that_a_line_end_divides_keeps_a_hyphen_of_its_own(divided, read):
    assert lines_of([column(50, 700, divided.replace("- ", "-\n").split("\n"))]) == [read]


def test_a_sentence_belongs_to_the_page_on_which_it_begins():
    pages = [["The annual"], ["procession was off. A super-"], ["intendent agreed. All", "went"], ["Home. It"], ["42"]]
    document = document_of([column(50, 700, lines) for lines in pages])
    starts = [*document.pages, len(document.text)]
    assert [document.text[start:end].strip() for start, end in pairwise(starts)] == [
        "The annual\nprocession was off.", "A superintendent agreed.", "All\nwent", "Home. It", "42",
    ]  # fmt: skip


def test_paragraphs_and_captions_have_an_empty_line_before_them():
    page = [
        *column(50, 700, LINES[:3]),
        Line(50, 664, "Figure 2: A cat."),
        *column(50, 640, LINES[3:6]),
        Line(65, 604, "This paragraph begins with an indentation,"),
        *column(50, 592, LINES[6:8]),
    ]
    blocks = document_of([page]).text.split("\n\n")
    assert [block.split("\n")[0] for block in blocks] == [LINES[0], "Figure 2: A cat.", LINES[3], page[7].text]


@pytest.mark.slow
def test_a_page_of_very_many_cells_is_read_in_time():
    rows = [[Line(20 + 560 * i / 400, 20 + 7.5 * n, "x", size=1) for i in range(400)] for n in range(40)]
    started = time.process_time()
    assert document_of(rows).text.count("x") == 400 * 40
    assert document_of([[cell for row in rows for cell in row]]).text.count("x") == 400 * 40
    assert time.process_time() - started < 20


def test_a_rotated_page_and_text_along_its_side_are_read_in_the_order_of_lines():
    assert lines_of([column(50, 700, LINES)], rotate=90) == LINES
    upwards = [Line(50, 740, "Large", 20), *column(50, 700, LINES)]
    document = document_of([[replace(line, is_turned=True) for line in upwards]], rotate=90)
    assert [heading.title for heading in document.headings] == ["Large"]
    assert document.text == "\n".join(["Large\n", *LINES])


def test_a_broken_embedded_file_is_left_out_and_the_text_is_read():
    names = "/Names << /EmbeddedFiles << /Names [(a) 2001 0 R] >> >>"
    others = {2001: "<< /Type /Filespec /F (a.docx) /EF << /F 2002 0 R >> >>", 2002: stream("broken")}
    left_out = LeftOut()
    documents = read_bytes("a.pdf", pdf_of([column(50, 700, LINES)], catalogue=names, others=others), left_out=left_out)
    assert [document.text for document in documents] == ["\n".join(LINES)]
    assert str(left_out).startswith("1 part left out: part a.docx cannot be read: ")


def test_what_exceeds_the_limits_of_notes_and_embedded_files_is_said():
    names = "".join(f"({n:03}) 2001 0 R " for n in range(MAX_FILES + 2))
    others = {2001: "<< /Type /Filespec /F (a.md) /EF << /F 2002 0 R >> >>", 2002: stream("embedded")}
    others[2003] = "<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (bought) >>"
    catalogue, left_out = f"/Names << /EmbeddedFiles << /Names [{names}] >> >>", LeftOut()
    notes = "2003 0 R " * (MAX_NOTES + 3)
    data = pdf_of([column(50, 700, LINES)], catalogue=catalogue, others=others, notes=notes)
    assert len([*read_bytes("a.pdf", data, left_out=left_out)]) == 1 + MAX_FILES
    assert left_out.first == [
        "part page 1 has 3 more than 2,000 notes",
        "part embedded files are 2 more than 100",
    ]


def test_notes_are_on_their_pages_and_come_once():
    notes = {2001: "<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (bought) >>", 2002: ""}
    notes[2002] = notes[2001].replace("bought", LINES[3])
    document = document_of([LINES_AT_TOP, LINES_AT_TOP], notes="2001 0 R 2002 0 R 2001 0 R", others=notes)
    assert document.text == "\n\n".join(["\n".join(LINES), "bought"] * 2)
    assert document.pages == (0, document.text.index("bought") + len("bought\n\n"))
