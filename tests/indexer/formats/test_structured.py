"""JSON, XML, YAML, TOML and INI: their text, the path of keys as the trail, and the lines of the file."""

import plistlib

import pytest
from conftest import make_tokenizer
from read_bytes import document, lines
from sample_files import FILES

from indexer.documents.chunk import Chunker
from indexer.formats.format import UnreadableError


def headings(name, data):
    """The level and title of each heading, and the first line of its text."""
    found = document(name, data)
    return [(one.level, one.title, found.text[one.offset :].lstrip("\n").split("\n")[0]) for one in found.headings]


def chunks(name, data, size=16):
    return list(Chunker(make_tokenizer(), size).split(document(name, data)))


def test_json_is_read_as_lines_with_the_line_numbers_of_the_file():
    assert lines("a.json", FILES["a.json"]) == [
        (1, "// tsconfig and others have comments"),
        (3, "name: bears"),
        (4, "scripts:"),
        (4, "  build: tsc -p ."),
        (4, "  deep:"),
        (4, "    list:"),
        (4, "      - 1"),
        (4, "      - 2, 3"),
        (5, "keywords: honey, paw"),
        (6, "people:"),
        (7, "    id: 7"),
        (7, "    name: Ann"),
        (7, "    Smith"),
        (8, "    title: Bär"),
        (8, "    track: 1, 2, 3, 4, 5, 6, 7, 8, … (3 more numbers)"),
    ]


def test_the_path_of_keys_is_the_trail_and_an_object_of_a_list_has_the_name_that_it_contains():
    assert headings("a.json", FILES["a.json"]) == [
        (1, "scripts", "scripts:"),
        (2, "deep", "deep:"),
        (3, "list", "list:"),
        (1, "people", "people:"),
        (2, "Ann Smith", "id: 7"),
        (2, "Bär", "title: Bär"),
    ]
    assert headings("a.json", '{"a": {"name": "b"}, "c": [{"x": 1}]}')[::2] == [(1, "a", "a:"), (2, "[0]", "x: 1")]


def test_a_chunk_within_an_object_has_its_name_in_the_trail():
    words = "\\n".join(f"word{n}" for n in range(40))
    *_, last = chunks("a.json", f'{{"bears": [{{"text": "{words}", "name": "Bruno"}}]}}')
    assert last.trail == ("bears", "Bruno")


@pytest.mark.parametrize("text", ['{"a" 1}', "hello", "[1", '{"a":}', '{"a":1}}', "[{]}", '"x"', "{{ template }}"])
def test_what_is_not_json_is_read_as_it_is(text):
    assert document("a.json", text).text == text


def test_several_values_comments_and_last_commas_are_read_and_the_rest_of_json5_as_it_is():
    text = '{"a": "//x,}", // one\n "b": -Infinity, /* two\nthree */ "c": -5e3,}\n{"a": true} // four'
    assert lines("a.jsonc", text) == [
        (1, "a: //x,}"),
        (1, "// one"),
        (2, "b: -Infinity"),
        (2, "/* two"),
        (3, "three */"),
        (3, "c: -5e3"),
        (4, "a: true"),
        (4, "// four"),
    ]
    assert document("a.json5", "{a: 'x'}").text == "{a: 'x'}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"Caf\u00c3\u00a9 \u00f0\u009f\u0090\u00bb now", "Café 🐻 now"),
        (r"voil\u00e0\u00a0\u00bb, n\u00e9", "voilà\u00a0», né"),
    ],
)
def test_letters_that_are_written_as_their_bytes_are_read(text, shown):
    assert lines("a.json", f'{{"a": "{text}"}}') == [(1, f"a: {shown}")]


def test_a_text_in_pieces_is_one_text():
    text = '[{"text": ["Bring ", {"type": "bold", "text": "oats"},\n{"type": "text_link", "text": " now", "href": "http://a"}'
    assert lines("a.json", f'{text}, "!"],\n"id": 7}}]') == [
        (1, "  text: Bring oats now (http://a)!"),
        (3, "  id: 7"),
    ]
    assert len(lines("a.json", '{"a": ["x", {"text": "y"}], "b": [1, {"type": "x", "text": "y"}]}')) > 2


def test_encoded_data_and_long_numbers_are_cut():
    ((_, line),) = lines("a.json", f'{{"image": "{"A" * 9000}"}}')
    assert line == "image: …"
    assert len(lines("a.json", f'{{"pi": {"3" * 5000}}}')[0][1]) < 100
    assert len(document("a.json", f"[{'1, ' * 9999}1]").text) < 100


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.json", "[" * 100_000, "JSON nested deeper than 250 levels"),
        ("a.json", '{"a":' * 600 + "1" + "}" * 600, "JSON nested deeper than 250 levels"),
        ("a.json", "[" + "1," * 3_000_001 + "1]", "JSON of more than 3,000,000 values"),
        ("a.yaml", "- " * 3000, "YAML nested deeper than 250 levels"),
        ("a.yaml", "[" * 100_000, "YAML nested deeper than 250 levels"),
        ("a.xml", "<a>" * 600, "XML that is nested too deep, or whose entities unpack to too much text"),
        pytest.param(
            "a.xml", f"<a>{'<b/>' * 3_000_001}</a>", "XML of more than 3,000,000 elements", marks=pytest.mark.slow
        ),
    ],
)
def test_values_that_are_nested_too_deep_or_too_many_are_refused(name, text, reason):
    with pytest.raises(UnreadableError) as raised:
        document(name, text)
    assert str(raised.value) == reason


def test_xml_prose_is_read_as_paragraphs_under_its_titles():
    assert lines("a.xml", FILES["book.xml"]) == [
        (3, "Bears 4.2"),
        (4, "The den"),
        (5, "A bear sleeps there"),
        (6, "all winter — alone."),
        (7, "on leaves"),
        (9, "  if cold:"),
        (10, "      sleep()"),
    ]
    assert document("a.xml", FILES["book.xml"]).title == "Bears 4.2"
    assert headings("a.xml", FILES["book.xml"]) == [(1, "The den", "The den")]


@pytest.mark.parametrize("is_prose", [True, False])
def test_what_follows_an_element_of_xml_is_not_below_its_heading(is_prose):
    body = "<p>All <b>of</b> them sleep.</p>" if is_prose else "<p>sleep</p>"
    text = f"<page><info><credit><name>Ann</name><email>a@b.c</email></credit></info><title>Bears</title>{body}</page>"
    (chunk,) = Chunker(make_tokenizer(), 256).split(document("a.xml", text))
    rows = chunk.body.split("\n")
    assert any("Ann" in trail for _, trail in chunk.places.trails)
    assert chunk.trail_at(next(n for n, row in enumerate(rows) if "sleep" in row)) == ()


def test_xml_data_is_read_with_its_names_and_attributes():
    assert lines("a.xml", FILES["data.xml"]) == [
        (1, "schemalist version=2"),
        (2, "schema id=org.bear path=/org/bear/"),
        (3, "  key name=honey type=i"),
        (4, "    default: 3"),
        (5, "    summary: Pots of honey"),
    ]
    assert [one[:2] for one in headings("a.xml", FILES["data.xml"])] == [(1, "schema org.bear"), (2, "Pots of honey")]


def test_xml_that_is_not_well_formed_is_read_as_it_is():
    for text in ("<a><b>", "<a>&x;</a>", "{% if x %}<a/>{% endif %}", "<a>1</a><a>2</a>"):
        assert document("a.xml", text).text == text


def test_entities_that_unpack_without_bounds_are_refused():
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    for text in (
        f'<!DOCTYPE a [<!ENTITY l0 "lol">{laughs}]><a>&l9;</a>',
        f'<!DOCTYPE a [<!ENTITY x "{"A*" * 50_000}">]><a>{"&x;" * 3000}</a>',
    ):
        with pytest.raises(UnreadableError, match="entities unpack to too much text"):
            document("a.xml", text)


def test_no_entity_reads_another_file(tmp_path):
    (tmp_path / "secret").write_text("secret")
    text = f'<!DOCTYPE a [<!ENTITY x SYSTEM "{(tmp_path / "secret").as_uri()}">]><a>&x;</a>'
    assert "secret" not in document("a.xml", text).text


def test_yaml_is_kept_as_it_is_with_the_path_of_keys():
    assert document("a.yml", FILES["a.yml"]).text == FILES["a.yml"].decode()
    assert headings("a.yml", FILES["a.yml"]) == [
        (1, "on", "on:"),
        (2, "push", "push:"),
        (3, "branches", "branches: [main, dev]"),
        (1, "jobs", "jobs:"),
        (2, "sleep", "sleep:"),
        (3, "steps", "steps:"),
        (4, "Find a den", "uses: actions/den"),
        (4, "[1]", "run: |"),
    ]
    chunk = next(chunk for chunk in chunks("a.yml", FILES["a.yml"]) if "not: a key" in chunk.body)
    assert chunk.trail[:3] == ("jobs", "sleep", "steps") and chunk.line_start >= 11


def test_the_aliases_of_yaml_are_not_followed():
    text = "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(100))
    assert len(document("a.yaml", text).text) == len(text)


def test_the_sections_of_toml_and_ini_are_headings():
    assert headings("a.toml", FILES["a.toml"]) == [
        (1, "project", "[project]"),
        (1, "tool.den.lint", "[tool.den.lint]"),
        (1, "bin", "[[bin]]"),
    ]
    assert headings("a.ini", FILES["a.ini"]) == [
        (1, "Desktop Entry", "[Desktop Entry]"),
        (1, "Action New", "[Action New] ; new"),
    ]


@pytest.mark.parametrize("kind", [plistlib.FMT_XML, plistlib.FMT_BINARY])
def test_the_address_of_a_link_to_a_page_is_read(kind):
    assert "https://a.example/x" in document("a.webloc", plistlib.dumps({"URL": "https://a.example/x"}, fmt=kind)).text


def test_timed_text_and_exports_of_banks_are_read():
    timed = "<tt><body><div><p begin='1s'>The <span>kil</span>n</p><p begin='2s'>is<br/>lit.</p></div></body></tt>"
    assert document("a.ttml", timed).text.split("\n\n") == ["The kiln", "is lit."]
    assert "Farrier" in document("a.ofx", "OFXHEADER:100\n\n<OFX>\n<NAME>Farrier\n</OFX>\n").text
    assert document("a.lrc", "[00:12.00]Haul the line\n").text == "[00:12.00]Haul the line\n"


def test_html_in_the_text_of_xml_is_read_without_its_tags():
    text = "<rss><item><description><![CDATA[<p>The <b>men</b>tioned tide&nbsp;locks<br/>\nare]]>"
    text += ' &lt;a href="x"&gt;shut&lt;/a&gt;</description><note>a &lt;b&gt; c</note></item></rss>'
    assert lines("a.xml", text)[1:] == [
        (1, "  description: The mentioned tide locks"),
        (2, "  are shut"),
        (2, "  note: a <b> c"),
    ]
