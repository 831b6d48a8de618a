from cdesearch.builders import UnreadFile
from indexer.summary import reasons


def lines(*skipped):
    return reasons([UnreadFile(*item) for item in skipped])


def test_reasons_are_grouped_in_at_most_ten_lines_and_printed_safely():
    unknown = [(f"{number}.djvu", "unknown format .djvu") for number in range(180)] + [("a.doc", "unknown format .doc")]
    large = [(f"{number}.md", "larger than 20 MB") for number in range(5)]
    assert lines(*unknown, *large) == [
        "180 .djvu, 1 .doc: unknown format",
        "0.md, 1.md, 2.md, and 2 more: larger than 20 MB",
    ]
    many = lines(*((f"{number}.md", f"reason {number}") for number in range(30)))
    assert len(many) == 11 and many[-1] == "20 for other reasons"
    assert lines(("a\x1b[31m.md", "no text column among: \x07")) == [r"a\x1b[31m.md: no text column among: \x07"]
