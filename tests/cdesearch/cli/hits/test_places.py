"""A hit in a later section of a small file has the place of that section, in every output."""

import json

import pytest
from command import cdesearch

SECTIONS = {"install": "Run the setup program.", "feeding": "Owls eat mice.", "cleaning": "Wash the cage with vinegar."}
CUES = ["Welcome to the garden.", "Tulips need cold winters.", "Potatoes grow below the earth."]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("places")
    body = "".join(f'<section id="{n}"><h2>{n.title()}</h2><p>{t}</p></section>' for n, t in SECTIONS.items())
    (folder / "guide.html").write_text(f"<title>Guide</title><body><h1>Guide</h1>{body}")
    cues = (f"{n}\n00:0{n}:00,000 --> 00:0{n}:05,000\n{text}\n" for n, text in enumerate(CUES))
    (folder / "talk.srt").write_text("\n".join(cues))
    cdesearch("index", ".", cwd=folder)
    return folder


def query(folder, words, *options):
    return cdesearch("query", words, "-k", "1", *options, cwd=folder).stdout


def test_the_place_is_that_of_the_section_in_every_output(indexed):
    words = "wash cage vinegar"
    assert "guide.html#cleaning" in query(indexed, words) and "Guide > Cleaning" in query(indexed, words)
    assert query(indexed, words, "--format", "grep") == "guide.html#cleaning:Wash the cage with vinegar.\n"
    (hit,) = json.loads(query(indexed, words, "--json"))["hits"]
    assert (hit["anchor"], hit["trail"]) == ("cleaning", ["Cleaning"])
    assert "Guide > Cleaning" in query(indexed, words, "--format", "llm").partition("\n")[0]
    assert "guide.html#feeding" in query(indexed, "owls eat mice")


def test_subtitles_have_the_time_and_the_line_of_the_words(indexed):
    words = "potatoes below earth"
    assert "0:02:00-0:02:05" in query(indexed, words)
    assert query(indexed, words, "--format", "grep") == "talk.srt:11:Potatoes grow below the earth.\n"
    (hit,) = json.loads(query(indexed, words, "--json"))["hits"]
    assert hit["trail"] == ["0:02:00-0:02:05"]


def test_an_answer_cites_the_section_that_it_quotes(indexed):
    answer = json.loads(cdesearch("ask", "--json", "how do I wash the cage with vinegar?", cwd=indexed).stdout)
    assert answer["citations"] == [{"number": 1, "location": "guide.html#cleaning"}]
