"""A hit in a later section of a small file has the place of that section, in every output."""

import json

import pytest
from command import cdesearch
from hostile_files import pdf
from sample_files import book, workbook, zipped

SECTIONS = {"install": "Run the setup program.", "feeding": "Owls eat mice.", "cleaning": "Wash the cage with vinegar."}
SHEETS = {"Budget": [("item", "cost"), ("roof tiles", "900")], "Stock": [("item", "shelf"), ("garden hose", "seven")]}
CHAPTERS = {
    "one.xhtml": "<h1>Spring</h1><p>The swallows return.</p>",
    "two.xhtml": "<h1>Autumn</h1><p>Leaves fall.</p>",
}
CUES = ["Welcome to the garden.", "Tulips need cold winters.", "Potatoes grow below the earth."]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("places")
    body = "".join(f'<section id="{n}"><h2>{n.title()}</h2><p>{t}</p></section>' for n, t in SECTIONS.items())
    (folder / "guide.html").write_text(f"<title>Guide</title><body><h1>Guide</h1>{body}")
    cues = (f"{n}\n00:0{n}:00,000 --> 00:0{n}:05,000\n{text}\n" for n, text in enumerate(CUES))
    (folder / "talk.srt").write_text("\n".join(cues))
    (folder / "shop.xlsx").write_bytes(zipped(workbook({name: rows_of(table) for name, table in SHEETS.items()})))
    (folder / "report.pdf").write_bytes(pdf(["Bees build hives.", "Wasps chew wood."]))
    (folder / "year.epub").write_bytes(zipped(book(CHAPTERS, {})))
    (folder / "birds.jsonl").write_text(
        '{"text": "A wren sang.\\nThe wren left."}\n\n{"id": "owl", "text": "No wren."}\n'
    )
    cdesearch("index", ".", cwd=folder)
    return folder


def rows_of(table):
    """The XML of the rows of a sheet, which begins at its second row."""
    cell = '<c t="inlineStr"><is><t>{}</t></is></c>'
    rows = ("".join(map(cell.format, row)) for row in table)
    return "".join(f'<row r="{number}">{cells}</row>' for number, cells in enumerate(rows, start=2))


def query(folder, words, *options):
    return cdesearch("query", words, "-k", "1", *options, cwd=folder).stdout


@pytest.mark.slow
def test_the_place_is_that_of_the_section_in_every_output(indexed):
    words = "wash cage vinegar"
    assert "guide.html#cleaning" in query(indexed, words) and "Guide > Cleaning" in query(indexed, words)
    assert query(indexed, words, "--format", "grep") == "guide.html:1:[#cleaning] Wash the cage with vinegar.\n"
    (hit,) = json.loads(query(indexed, words, "--json"))["hits"]
    assert (hit["anchor"], hit["trail"]) == ("cleaning", ["Cleaning"])
    assert "Guide > Cleaning" in query(indexed, words, "--format", "llm").splitlines()[2]
    assert "guide.html#feeding" in query(indexed, "owls eat mice")


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (["wren -no"], "birds.jsonl:1:[1] A wren sang.\nbirds.jsonl:1:[1] The wren left.\n"),
        (
            ["the wrens"],
            "birds.jsonl:1:[1] A wren sang.\nbirds.jsonl:1:[1] The wren left.\nbirds.jsonl:3:[owl] No wren.\n",
        ),
        (['"wren left" hives'], "birds.jsonl:1:[1] The wren left.\n"),
        (["--regex", "^(No|The) w"], "birds.jsonl:1:[1] The wren left.\nbirds.jsonl:3:[owl] No wren.\n"),
        (['"Stock"'], "shop.xlsx:2:[Stock!A2:B2] shop.xlsx > Stock\n"),
        (['"on bears"'], "year.epub:1:[#OEBPS/one.xhtml] On bears\n"),
        (["birds type:json", "--regex", "^No"], "birds.jsonl:3:[owl] No wren.\n"),
    ],
)
def test_lines_as_those_of_grep_are_all_lines_that_match_with_the_line_of_a_record(indexed, options, lines):
    printed = cdesearch("query", *options, "--format", "grep", cwd=indexed).stdout
    assert sorted(printed.splitlines()) == sorted(lines.splitlines())


@pytest.mark.parametrize("words", ["qzxv plumbus", "--regex=qzxv"])
def test_nothing_is_printed_for_words_or_a_pattern_that_do_not_occur(indexed, words):
    assert not cdesearch("query", words, "--format", "grep", cwd=indexed, code=1).stdout


def test_a_line_of_a_record_is_right_after_a_line_was_added_above_it(tmp_path):
    records = '{"id": "a", "text": "A wren sang."}\n'
    for n in (1, 2):
        (tmp_path / "birds.jsonl").write_text('{"text": "robin"}\n' * (n - 1) + records)
        cdesearch("index", ".", cwd=tmp_path)
        assert query(tmp_path, "wren", "--format", "grep") == f"birds.jsonl:{n}:[a] A wren sang.\n"


def test_subtitles_have_the_time_and_the_line_of_the_words(indexed):
    words = "potatoes below earth"
    heading, trail, *_ = query(indexed, words).splitlines()
    assert "talk.srt:11 " in heading and "0:02:00-0:02:05" in trail
    assert query(indexed, words, "--format", "grep") == "talk.srt:11:Potatoes grow below the earth.\n"
    (hit,) = json.loads(query(indexed, words, "--json"))["hits"]
    assert (hit["line"], hit["trail"]) == (11, ["0:02:00-0:02:05"])


def test_a_row_has_its_cells_and_the_name_and_the_header_of_its_sheet(indexed):
    words = "garden hose seven"
    assert "shop.xlsx:3 #Stock!A3:B3 " in query(indexed, words) and "Stock > item | shelf" in query(indexed, words)
    assert query(indexed, words, "--format", "grep") == "shop.xlsx:3:[Stock!A3:B3] garden hose | seven\n"
    (hit,) = json.loads(query(indexed, words, "--json"))["hits"]
    assert (hit["record"], hit["line"], hit["anchor"]) == ("Stock", 3, "A3:B3")
    assert hit["trail"] == ["Stock", "item | shelf"]
    assert query(indexed, "roof tiles", "--format", "grep") == "shop.xlsx:3:[Budget!A3:B3] roof tiles | 900\n"


def test_a_passage_of_a_book_has_its_chapter(indexed):
    words = "autumn leaves fall"
    assert "year.epub" in query(indexed, words) and "On bears > Autumn" in query(indexed, words)
    (hit,) = json.loads(query(indexed, words, "--json"))["hits"]
    assert (hit["title"], hit["trail"]) == ("On bears", ["Autumn"])
    assert query(indexed, words, "--format", "grep").startswith("year.epub:1:[#")


def test_a_passage_of_a_pdf_has_its_page_and_a_line_for_editors(indexed):
    words = "wasps chew wood"
    assert "report.pdf#page=2" in query(indexed, words)
    assert query(indexed, words, "--format", "grep") == "report.pdf:1:[page 2] Wasps chew wood.\n"


def test_an_answer_cites_the_section_that_it_quotes(indexed):
    answer = json.loads(cdesearch("ask", "--json", "how do I wash the cage with vinegar?", cwd=indexed).stdout)
    cited = {"number": 1, "location": "guide.html#cleaning", "trail": ["Cleaning"]}
    assert answer["citations"] == [cited]
