"""Typical pages: the content is kept, and the navigation is left out."""

from dataclasses import replace
from time import process_time

import pytest
from conftest import make_tokenizer

from indexer.documents.chunk import Chunker
from indexer.formats.html import to_markdown
from indexer.formats.markdown import converted_document

SPHINX = """<html><head><title>Cats — Zoo 1.0 documentation</title></head><body>
<div class="related" role="navigation"><ul><li><a href="i.html">index</a></li></ul></div>
<div class="document"><div class="body" role="main"><section id="cats"><h1>Cats<a class="headerlink">¶</a></h1>
<p>They <code>purr</code>.</p><aside class="topic"><p class="topic-title">Note</p><p>Not all do.</p></aside>
<table class="docutils"><thead><tr><th><p>Name</p></th><th><p>Says</p></th></tr></thead>
<tbody><tr><td><p>Tom</p></td><td><p>Miau</p><p>and <em>pur</em>r</p></td></tr></tbody></table>
<div class="highlight"><pre><span></span><span class="k">def</span> <span class="nf">purr</span>():
    <span class="k">pass</span>
</pre></div></section></div></div>
<div class="sphinxsidebar"><h3>Contents</h3></div><footer>Copyright</footer></body></html>"""

MKDOCS = """<html><head><title>Setup - Zoo</title></head><body><header><nav>Zoo Home</nav></header>
<nav class="md-nav"><a>Setup</a></nav><main><article class="md-content__inner"><h1>Setup</h1><p>Install it.</p>
<table class="highlighttable"><tr><td class="linenos"><pre>1
2</pre></td><td class="code"><pre>pip install zoo
zoo run</pre></td></tr></table></article></main><footer>Made with</footer></body></html>"""

FORUM = """<html><head><title>Why do cats purr?</title></head><body><header>Forum login</header><nav>Boards</nav>
<form action="/moderate"><article><header><h2>Alice asks</h2></header><p>Why?</p>
<select><option>Delete</option></select>
</article><article><header><b>Bob</b></header><p>Because<br>they can.</p><button>Like</button></article></form>
<footer>Imprint</footer></body></html>"""

WIKI = """<html><head><title>Cat - Wiki</title></head><body><div id="content"><h1>Cat</h1>
<table class="infobox"><caption>Cat</caption><tr><th>Family</th><td><ul><li>Felidae</li><li>Felinae</li></ul></td></tr>
<tr><td>Range<br>map</td><td><table><tr><td>in</td><td>ner</td></tr></table></td></tr></table>
<p>The <b>cat</b><sup>[1]</sup> is a <b>H</b>unter.</p></div><div role="navigation">See also</div></body></html>"""


DOCBOOK = """<html><body><div class="navheader"><table><tr><td>Prev</td></tr></table></div>
<div class="chapter"><h2 class="title">Cats</h2><div class="toc"><a href="#feed">Feeding cats</a></div>
<p>They purr.</p></div><div class="navfooter"><a href="b.html">Next</a> <a class="reportbug">Report a bug</a></div>
</body></html>"""


# Pages, the parts of their text that are kept, and the parts that are left out
PAGES = {
    "Sphinx": (
        SPHINX,
        [
            "# Cats\n",
            "They purr.",
            "Not all do.",
            "| Name | Says |\n|--|--|\n| Tom | Miau and purr |",
            "def purr():\n    pass",
        ],
        ["index", "Contents", "Copyright", "¶"],
    ),
    "MkDocs": (
        MKDOCS,
        ["# Setup", "Install it.", "pip install zoo\nzoo run"],
        ["Home", "Made with", "1\n2"],
    ),
    "DocBook": (DOCBOOK, ["## Cats", "They purr."], ["Prev", "Feeding", "Next", "Report"]),
    "a forum inside its form": (
        FORUM,
        ["## Alice asks", "Why?", "Bob", "Because\nthey can."],
        ["login", "Boards", "Delete", "Like", "Imprint"],
    ),
    "an encyclopedia": (
        WIKI,
        ["| Family | Felidae Felinae |", "| Range map | in ner |", "The cat[1] is a Hunter."],
        ["See also"],
    ),
    "content with a class of navigation": (
        '<body><div class="footer document"><h1>Cats</h1><p>They purr.</p></div><div class="toc">T</div></body>',
        ["# Cats", "They purr."],
        ["T\n"],
    ),
    "marked content that is empty": ("<main></main><div>the cat</div>", ["the cat"], []),
}


@pytest.mark.parametrize(("page", "kept", "gone"), PAGES.values(), ids=PAGES)
def test_the_content_of_a_page_is_kept_and_its_navigation_is_left_out(page, kept, gone):
    text = to_markdown(page).text
    assert all(part in text for part in kept) and not any(part in text for part in gone), text


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("<p>Alice</p><p>Bob</p>", "Alice Bob"),
        ("Alice<br>Bob", "Alice Bob"),
        ("<ul><li>Alice<li>Bob</ul>", "Alice Bob"),
        ("<b>H</b>ello", "Hello"),
        ("<div>Alice</div>Bob", "Alice Bob"),
    ],
)
def test_blocks_in_a_cell_are_separated_and_inline_markup_is_not(cell, text):
    assert to_markdown(f"<table><tr><td>{cell}</td><td>x</td></tr></table>").text == f"| {text} | x |"


def test_a_header_belongs_to_the_page_unless_it_is_inside_a_part():
    page = "<header>site</header><section><header><h2>Part</h2></header><p>a</p></section><footer>end</footer>"
    assert to_markdown(page).text == "## Part\n\na"


def test_code_keeps_its_line_breaks():
    assert to_markdown("<pre>a<br>b\n  c<div>d</div><div>e</div></pre>").text == "```\na\nb\n  c\nd\ne\n```"


def at_anchors(page):
    """The ids of a page, and the word that follows each in its text."""
    found = to_markdown(page)
    return [(anchor.name, found.text[anchor.offset :].split()[0]) for anchor in found.anchors]


def test_the_id_of_an_element_is_where_its_text_begins():
    page = (
        '<body id="top"><p>before</p><section id="setup"><h2>Set <i>up</i></h2><ul><li id="one"> <p>first</p></li>'
        '<li><a name="two"></a>second</li></ul><pre id="code">\n\n  x = 1\n</pre></section>'
        '<table><tr id="row"><td>cell</td></tr></table><p id="end"></p></body>'
    )
    expected = [("setup", "##"), ("one", "-"), ("two", "second"), ("code", "```"), ("row", "cell")]
    assert at_anchors(page) == expected


def test_of_several_ids_at_one_place_the_innermost_block_counts():
    page = '<div id="page"><section id="cats"><span id="index-0"></span><h1>Cats</h1><p>purr</p></section></div>'
    assert at_anchors(page) == [("cats", "#")]


def test_a_term_of_sphinx_has_its_own_id_although_blanks_and_marks_precede_its_text():
    page = to_markdown(
        '<dl><dt id="expired">\n<em>expired</em>()</dt><dd><p>Is it over?</p></dd><dt id="at">\n<em>at</em>()'
        '</dt><dd><p>Until then.</p></dd></dl><ul><li><a id="item">one</a></li><li>two</li></ul>'
    )
    chunks = list(Chunker(make_tokenizer(), 64).split(converted_document("a.html", "", page.text, page.anchors)))
    lines = {line: chunk.anchor_at(row) for chunk in chunks for row, line in enumerate(chunk.body.split("\n"))}
    expected = {"expired()": "expired", "at()": "at", "Until then.": "at", "- one": "item", "- two": "item"}
    assert {line: lines[line] for line in expected} == expected


def test_what_a_picture_and_a_figure_say_is_read_once():
    page = (
        '<h1><img alt="Den"></h1><p>before <img alt="a bear" title="a bear">end</p><figure title="Winter"><img alt="">'
        '<figcaption>asleep</figcaption></figure><p aria-label="hint">foot</p>'
    )
    assert to_markdown(page).text == "# Den\n\nbefore a bear end\n\nWinter\n\nasleep\n\nfoot"


def test_an_image_has_the_place_of_its_description_or_of_what_follows_it():
    page = to_markdown(
        '<h1><img alt="Den" src="den.png"></h1><p>a <img src="i 1.svg">bear</p><table><tr><td>b|c <img alt="Q | r" '
        'src="q.png">d</td><td><img src="r.gif"></td></tr></table>'
        '<table><tr><td>s|<img src="s.png" alt="S | t">u</td></tr></table>'
        '<pre>e <img src="p.png"></pre><img src="end.png">'
        '<img src="https://example.org/x.png"><img src="//example.org/x.png"><img src="data:image/png,AA.png">'
    )
    assert page.text == "# Den\n\na bear\n\n| b\\|c Q \\| r d |  |\n\ns| S | t u\n\n```\ne\n```"
    found = [(one.address, page.text[one.offset :].split()[:1]) for one in page.inlines]
    assert found == [
        ("den.png", ["Den"]), ("i%201.svg", ["bear"]), ("q.png", ["Q"]), ("r.gif", ["|"]), ("s.png", ["S"]),
        ("end.png", []),
    ]  # fmt: skip
    chunks = list(
        Chunker(make_tokenizer(), 8).split(replace(converted_document("a.html", "", page.text), inlines=page.inlines))
    )
    assert [one.address for chunk in chunks for one in chunk.inlines] == [source for source, _ in found]
    assert all(chunk.body.startswith(one.words, one.offset) for chunk in chunks for one in chunk.inlines)
    assert page.inlines[2].words == "Q \\| r"


def test_signs_of_links_and_words_without_letters_shift_no_places():
    page = to_markdown(
        '<h2>A <a href="#a">¶</a></h2><p>b <a href="c.html">\u200b</a> <b>d</b></p><table><tr><td rowspan="2">e ¶</td>'
        "<td>f</td></tr><tr><td><i>g</i></td></tr></table>"
    )
    assert [one.words for one in page.inlines] == ["\u200b", "d", "g"]


@pytest.mark.parametrize(
    "page",
    [
        "<i>" * 20_000 + "a" * 5_000_000,
        "1<sup>" * 4_000 + "2" * 2_000_000,
        "<table><tr><td>a<td>" + "<sup></sup>" * 20_000,
    ],
)
def test_hostile_elements_take_little_time(page):
    started = process_time()
    to_markdown(page)
    assert process_time() - started < 20  # it was minutes for some of them


def test_the_items_of_lists_keep_their_numbers_and_levels():
    page = "<ol start=3><li>fell</li><li>saw<ul><li>logs</li></ul></li><li><ol><li>dry</li></ol></li></ol>"
    assert to_markdown(page).text == "3. fell\n4. saw\n    - logs\n5. 1. dry"


def test_a_power_is_not_read_as_one_number():
    page = "<p>10<sup>6</sup> m<sup>2</sup> 21<sup>st</sup></p><table><tr><td>2<sup>-1</sup><td>b</table>"
    assert to_markdown(page).text == "10^6 m2 21st\n\n| 2^-1 | b |"


@pytest.mark.parametrize(
    ("page", "text"),
    {
        "sexton<sup>12</sup> and sexton.<sup>1,2</sup>": "sexton 12 and sexton. 1,2",
        "gate<a epub:type='noteref' href='n.xhtml#n1'>1</a> in 1984<sup><a href='#n3'>3</a></sup>": "gate 1 in 1984 3",
        "gate<a href='#n2'><sup>2</sup></a> and <i>gate</i><sup><a href='#n3'><b>3</b></a></sup>": "gate 2 and gate 3",
        "Ca<sup>2+</sup> km<sup>2</sup> XIX<sup>e</sup> 3.<a href='#s'>1</a>": "Ca2+ km2 XIXe 3.1",
        "\u21a9<a href='#r'><sup>2</sup></a> cat<sup><a href='#c'><b>[</b>1<b>]</b></a></sup>": "\u21a92 cat[1]",
    }.items(),
)
def test_the_mark_of_a_note_is_no_part_of_the_word_before_it(page, text):
    assert to_markdown(f"<p>{page}</p>").text == text
    assert to_markdown(f"<table><tr><td>{page}<td>b</table>").text == f"| {text} | b |"


def test_links_and_emphases_have_the_places_of_their_words():
    page = to_markdown(
        '<h1>A <b>big</b> day</h1><p>a <a href="b c.html"><tt>__init__(a|b)</tt></a> <i>c <strong>d</strong></i></p>'
        '<table><tr><td rowspan="2"><a href="https://example.org/?e|f">g|h</a></td><td>i</td></tr>'
        "<tr><td><u>s</u></td></tr></table>"
        '<p><a href="j.html"><img src="j.png" alt="k"></a> <a href="javascript:l">l</a> <a href="#m">m</a> <b></b></p>'
        f'<b>n<br>o</b> <a href="p.html"><h2>p</h2></a> <pre><b>q</b></pre> <b>{"r" * 301}</b>'
        "<dl><dt>s</dt><dd>t</dd></dl>"
    )
    assert [one[:4] for one in page.inlines if page.text.startswith(one.words, one.offset)] == [
        (4, "big", "b", ""), (15, "__init__(a|b)", "a", "b%20c.html"), (15, "__init__(a|b)", "code", ""),
        (29, "c d", "i", ""), (31, "d", "strong", ""), (36, "g\\|h", "a", "https://example.org/?e|f"),
        (52, "s", "u", ""), (57, "k", "a", "j.html"), (57, "k", "img", "j.png"), (61, "m", "a", "#m"),
        (64, "n\no", "b", ""), (389, "s", "strong", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["two words", "", "a" * 501, "a\x1bb"])
def test_an_id_that_no_link_can_name_is_ignored(name):
    assert at_anchors(f'<h1 id="{name}">Cats</h1>') == []


def test_the_reading_of_a_word_does_not_divide_it_and_buttons_divide_words():
    page = to_markdown("<p><ruby>Tok<rt>to</rt>yo<rp>(</rp><rt>ky</rt></ruby> and<button>Like</button>Kobe</p>")
    assert page.text == "Tokyo and Kobe"


def test_the_meaning_of_an_abbreviation_is_written_once():
    page = to_markdown("<p>The <abbr title='Sea Office'>SO</abbr> and the <abbr title='Sea Office'>SO</abbr></p>")
    assert page.text == "The SO (Sea Office) and the SO"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            "<tr><th rowspan=2>Model<th colspan=2>Pressure<th>Note</tr><tr><th>cold<th>hot<th></tr>"
            "<tr><td rowspan=2>B<td>1<td>2<td>x</tr><tr><td>3<td>4<td>y</tr>",
            ["|Model|Pressure||Note|", "|--|--|--|--|", "||cold|hot||", "|B|1|2|x|", "||3|4|y|"],
        ),
        ("<tr><td>a<td rowspan=2>C</tr><tr><td>x</tr><tr><td>1<td>2</tr>", ["|a|C|", "x", "|1|2|"]),
        ("<thead><tr><td rowspan=2>a<td>b</tr></thead><tr><td>c<td>d</tr>", ["|a|b|", "|c|d|"]),
        ("<tr><td>a<td rowspan=9>b</tr><tr></tr><tr></tr>", ["|a|b|"]),
    ],
)
def test_cells_stand_below_their_heads_although_others_span_columns_and_rows(rows, expected):
    assert to_markdown(f"<table>{rows}</table>").text.replace(" ", "").split() == expected


def test_cells_that_span_much_fill_few_columns():
    spanning = "<table><tr>" + "<td colspan=1000 rowspan=1000>x</td>" * 100 + "</tr>"
    assert len(to_markdown(spanning + "<tr><td>y</tr>" * 1000).text) < 100_000
