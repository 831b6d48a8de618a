import pytest
from read_bytes import document

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
    tidied = tidy(document, {})
    assert tidied.text == "Überblick\n# Prüfung\nfine\n# Énde\nlast\n" and tidied.title == "Über"
    assert [one.title for one in tidied.headings] == ["top", "Prüfung", "Énde"]
    found = [tidied.text[one.offset :][:4] for one in (*tidied.headings[1:], *tidied.anchors)]
    assert found == ["# Pr", "# Én", "# Pr", "last"] and tidied.headings[0].offset == -1
    assert [tidied.text[page:][:4] for page in tidied.pages] == ["Über", "# Én"]


NOTE = """---
title: My Note
# a comment
aliases: [Alpha, Beta]
tags:
  - bees
  - "hives"
uid: 7
---

# Head

honey
"""


def test_front_matter_is_no_text_except_what_describes_the_note():
    found = document("a.md", NOTE)
    assert found.title == "My Note"
    assert found.text == "aliases: Alpha, Beta - tags: bees, hives\n\n# Head\n\nhoney\n"
    assert found.line_numbers == (1, 10, 11, 12, 13, 14)
    assert [(one.title, found.text[one.offset :][:6]) for one in found.headings] == [("Head", "# Head")]


@pytest.mark.parametrize(
    ("name", "data", "title", "text"),
    [
        ("a.md", "+++\ntitle = 'T'\ntags = ['a']\n[params]\nx = 1\n+++\nbody\n", "T", "tags: a\nbody\n"),
        ("a.md", "---\ntitle: Foo: bar\ntags: a\n---\nbody\n", "Foo: bar", "tags: a\nbody\n"),  # is not YAML
        ("a.md", "---\n# comment\nlayout: post\n---\nbody\n", "a.md", "\nbody\n"),
        ("a.md", "---\ntitle: only\n---\n", "only", "only\n"),
        ("a.rst", "---\ntitle: T\n---\n\nbody\n", "T", "\n\nbody\n"),
        ("a.txt", "---\nlayout: post\n...\nbody\n", "a.txt", "\nbody\n"),
        ("a.md", "---\nSome prose.\n---\nbody\n", "a.md", "---\nSome prose.\n---\nbody\n"),
        ("a.md", "---\n\n---\nbody\n", "a.md", "---\n\n---\nbody\n"),
        ("a.md", "---\ntags: x\n", "a.md", "---\ntags: x\n"),
        ("a.md", "---\na: &a [x, x]\nb: &b [*a, *a]\ntags: [*b, y]\n---\nbody\n", "a.md", "tags: x, y\nbody\n"),
        ("a.md", "---\ntitle: T: u\ntags:\n- a\n- b\nabstract: |\n  the long text\n  of it\n---\nbody\n", "T: u",
         "tags: a b - abstract: the long text of it\nbody\n"),
        ("a.md", "---\nThere was a fox.\nNote: it was red: very red.\nHe ran.\n---\nbody\n", "a.md",
         "---\nThere was a fox.\nNote: it was red: very red.\nHe ran.\n---\nbody\n"),
        ("a.md", "---\nDear diary: today I saw a heron\ndate: Tue, 14 May 2024\n---\nbody\n", "a.md",
         "Dear diary: today I saw a heron\nbody\n"),
        ("a.md", "+++\n[taxonomies]\ntags = ['a']\n[seo]\nlead = 'what nobody had ever seen'\n+++\nbody\n", "a.md",
         "tags: a - lead: what nobody had ever seen\nbody\n"),
        ("a.md", "---\nauthor:\n  - name: Ann Bee\n    orcid: 7\n  - Bob\n---\nbody\n", "a.md",
         "author: Ann Bee, 7, Bob\nbody\n"),
        ("a.md", "---\nsummary: 橋を渡る人\nfrage: 今日は何を食べますか\nlayout: post\n---\nbody\n", "a.md",
         "summary: 橋を渡る人 - frage: 今日は何を食べますか\nbody\n"),
    ],
)  # fmt: skip
def test_front_matter_of_every_kind(name, data, title, text):
    found = document(name, data)
    assert (found.title, found.text) == (title, text)


def test_a_description_after_very_many_values_is_read():
    matter = "".join(f"key{n}: {n}\n" for n in range(99))
    found = document("a.md", f"---\n{matter}description: the honey\n---\nbody\n")
    assert found.text == "description: the honey\nbody\n"


@pytest.mark.parametrize("matter", ["[" * 15_000, "- " * 7_000, "a: " + "{b: " * 4_000, "a = " + "[" * 9_000])
@pytest.mark.parametrize("mark", ["---", "+++"])
def test_front_matter_that_is_nested_deep_is_harmless(mark, matter):
    assert document("a.md", f"{mark}\n{matter}\n{mark}\nbody\n").text.endswith("body\n")
