import pytest
from read_bytes import read_bytes

from indexer.formats.format import Anchor, Document, Heading
from indexer.formats.tidy import tidy


def test_places_stay_right_when_characters_become_fewer():
    text = "U\u0308ber\u00adblick\n# Pru\u0308fung\nfi\u00adne\n# E\u0301nde\nlast\n"
    places = [text.index(word) for word in ("# Pr", "# E", "last")]
    document = Document(
        "a", "a", "U\u0308ber", text, "text",
        headings=(Heading(-1, 1, "top"), Heading(places[0], 1, "Pru\u0308fung"), Heading(places[1], 1, "E\u0301nde")),
        anchors=(Anchor(places[0], "one"), Anchor(places[2], "two")), pages=(0, places[1]), has_lines=True,
    )  # fmt: skip
    tidied = tidy(document)
    assert tidied.text == "Überblick\n# Prüfung\nfine\n# Énde\nlast\n" and tidied.title == "Über"
    assert [one.title for one in tidied.headings] == ["top", "Prüfung", "Énde"]
    found = [tidied.text[one.offset :][:4] for one in (*tidied.headings[1:], *tidied.anchors)]
    assert found == ["# Pr", "# Én", "# Pr", "last"] and tidied.headings[0].offset == -1
    assert [tidied.text[page:][:4] for page in tidied.pages] == ["Über", "# Én"]
