"""Chunks are shown as text with lists, tables and coloured code, and nothing of a file becomes active."""

import re
from dataclasses import replace

import pytest

from cdesearch.serve.rendered import coloured_lines, html_of, open_fences, rendered
from cdesearch.store.line_places import LinePlaces
from cdesearch.store.schema import Chunk, Inline

CHUNK = Chunk("1", "a", None, 0, "a.md", "", (), "a", 0, 1, 1, None)


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("# A *b*", "<h4>A <em>b</em></h4>"),
        ("### C", "<h6>C</h6>"),
        ("| a |\n|---|\n| b |", "<td>b</td>"),
        ("| a | b |\n|--|--|\n| c |  | d |", "<th>b</th>\n</tr>\n<tr>\n<td>c</td>\n<td></td>\n<td>d</td>"),
        (
            "a\n| b | c \\| d |\ne",
            "<p>a</p>\n<table>\n<tbody><tr>\n<td>b</td>\n<td>c | d</td>\n</tr>\n</tbody></table>\n<p>e",
        ),
        ("| a | b |\n|:-|-:|\n| c", "<td>c</td>"),
        ("|a| and\n|b|", "<p>|a| and\n|b|</p>"),
        ("- a\n    - b", "<li>b</li>"),
        ("- [x] a", "<li>\N{BALLOT BOX WITH CHECK} a</li>"),
        ("~~a~~ <kbd>b</kbd>", "<s>a</s> <kbd>b</kbd>"),
        ("[a](https://example.org)", 'href="https://example.org"'),
        ("[a](../b/a.md#c)", 'href="../b/a.md#c"'),
        ("[[a b#c|d]] ![[e]]", '>d</a> !<a href="?q=e"'),
        ("`[[a]]`", "<code>[[a]]</code>"),
        ("[[1]](https://example.org)", 'href="https://example.org"'),
        ("see (https://example.org/a_(b)).", 'see (<a href="https://example.org/a_(b)"'),
        ("https://example.org/a?b=c&d, e", ">https://example.org/a?b=c&amp;d</a>, e"),
        ("<b>[http://example.org](a.md)</b> `https://example.org`", '<b><a href="a.md" rel="noopener noreferrer">http'),
        ("![a *photo*](../b/a.png)", '<img src="../b/a.png" alt="a *photo*">'),
        ("![a *photo*](https://example.org/a.png)", "<p>a *photo*</p>"),
        ("<img src='a.png' onload='alert(1)' width=9>", '<img src="a.png" width="9">'),
        ("```python\nimport a\n```", '<span class="kn">import</span>'),
        ("```unknown\na < b\n```", "a &lt; b"),
    ],
)
def test_markdown_becomes_html(markdown, html):
    assert html in html_of(markdown)


@pytest.mark.parametrize(
    "markdown",
    [
        "<script>alert(1)</script>",
        "<img src=//example.org/x onerror=alert(1)> <img src=' HT\tTPS:example.org/y'> <img src='/\\example.org/z'>",
        "<b onclick=alert(1) style='color: red' class=unseen>a</b>",
        "[a](javascript:alert(1)) <a href='JavaScript:alert(1)'>b</a>",
        "[c](//example.org/api/v1/status) <a href='/\\example.org'>d</a> [e](file:///etc)",
        "<iframe src=https://example.org></iframe><form action=https://example.org><input></form>",
        "<span class='hit'>a</span> ![a](https://example.org/a.png) <svg onload=alert(1)>",
        "![a](//example.org/a.png) ![a](data:image/png;base64,AAAA)",
        "```<img src=x onerror=alert(1)>\n</code><script>alert(1)</script>\n```",
    ],
)
def test_nothing_in_it_is_active(markdown):
    html = html_of(markdown)
    assert not re.search(r"<(?!/?(?:p|b|a|span|pre|code|img)\b)", html), html
    assert not re.search(r"<[^>]*(?:\bon|style|src|href|class)", html), html


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("x = '<b>'\n", "a.py", ['<span class="n">x</span>', ""]),
        ('{"a": 1}', "a.json", ['<span class="nt">"a"</span>']),
        ("\n\n# a", "a.sh", ["", "", '<span class="c1"># a</span>']),
        ("a, b", "a.csv", None),
        ("a", "a.txt", None),
        ("x = 1", "a.au3", None),
        ("x = 1\n" * 1000, "a.py", None),
    ],
)
def test_each_line_of_code_is_coloured(text, path, expected):
    lines = coloured_lines(text, path=path)
    assert (lines is None) == (expected is None)
    assert all(part in line for line, part in zip(lines or [], expected or [], strict=True)), lines


def test_a_block_of_code_continues_in_the_next_chunks():
    texts = ["a\n````\nb", "c\n```\n~~~", "d\n````\ne", "```sh\nf", "```sh\ng\n```", "``` `h` ```\ni"]
    chunks = [replace(CHUNK, text=text) for text in texts]
    assert list(open_fences(chunks)) == ["", "````", "````", "", "", ""]
    assert rendered(chunks[1], "````")["html"] == "<pre><code>c\n```\n~~~</code></pre>\n"
    assert rendered(replace(CHUNK, path="a.txt")) == {} == rendered(replace(CHUNK, text="a" * 100_000))


def test_an_image_of_a_page_is_shown_in_the_place_of_its_description():
    sources = ("", "a.png"), ("", "b.png"), ('d"<', "c.png"), ("e", "//example.org/d.png")
    images = tuple(
        Inline(at, words, "img", source) for at, (words, source) in zip((0, 4, 11, 17), sources, strict=True)
    )
    html = rendered(replace(CHUNK, path="a.html", text='a c b\n\n| x d"< | e f |', inlines=images))["html"]
    shown = re.sub(r"\n|</?(?:table|tbody|tr)>", "", html)
    assert shown == (
        '<img src="a.png" alt=""><p>a c <img src="b.png" alt="">b</p>'
        '<td>x <img src="c.png" alt="d&quot;&lt;"></td><td><img alt="e"> f</td>'
    )


@pytest.mark.parametrize(
    ("text", "images", "html"),
    [
        (
            "```\na\n```",
            [Inline(9, "", "img", "b.png"), Inline(9, "", "img", "c.png")],
            '<pre><code>a\n</code></pre>\n<img src="b.png" alt="">\n<img src="c.png" alt="">',
        ),
        ("| a | b\\|c d |", [Inline(6, "b\\|c", "img", "d.png")], '<td><img src="d.png" alt="b|c"> d</td>'),
    ],
)
def test_images_neither_break_the_text_nor_repeat_it(text, images, html):
    assert html in rendered(replace(CHUNK, path="a.html", text=text, inlines=tuple(images)))["html"]


def test_a_text_that_images_make_too_long_is_shown_as_it_is():
    inlines = (Inline(0, "", "img", "&" * 400),) * 50
    assert rendered(replace(CHUNK, path="a.html", inlines=inlines)) == {}


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("impl<T> and <script> &lt; after", "<p>impl&lt;T&gt; and &lt;script&gt; &amp;lt; after</p>"),
        ("2*3*4 **x** `y` [z](a.md) ~~w~~ __init__", "<p>2*3*4 **x** `y` [z](a.md) ~~w~~ __init__</p>"),
        ("5. a *b*\n6. c", '<ol start="5">\n<li>a *b*</li>\n<li>c</li>'),
        ("2024. was\n+ plus\n===", "<p>2024. was\n+ plus\n===</p>"),
        ("# A <b>\n\n- *c*\n- d\\|e", "<h4>A &lt;b&gt;</h4>\n<ul>\n<li>*c*</li>\n<li>d\\|e</li>"),
        ("| a\\|b | *c* |\n| <d> | e |", "<td>a|b</td>\n<td>*c*</td>\n</tr>\n<tr>\n<td>&lt;d&gt;</td>"),
        ("```\n*a* <b>\n```\n*c*", "<pre><code>*a* &lt;b&gt;\n</code></pre>\n<p>*c*</p>"),
        ("<https://example.org/a>, b", '&lt;<a href="https://example.org/a"'),
        ("see https://example.org/a_b_(c)?d&e.", 'href="https://example.org/a_b_(c)?d&amp;e"'),
    ],
)
def test_signs_in_a_text_that_was_converted_stand_for_themselves(text, html):
    assert html in rendered(replace(CHUNK, path="a.html", text=text))["html"]


def test_the_links_and_emphases_of_html_are_shown():
    inlines = (
        Inline(0, "a *b*", "a", "c.html?d&e|f"), Inline(2, "*b*", "code"), Inline(8, "x\\|", "a", "javascript:g"),
        Inline(8, "x\\|", "strong"), Inline(14, "other", "b"),
    )  # fmt: skip
    shown = '<p><a href="c.html?d&amp;e|f" rel="noopener noreferrer">a <code>*b*</code></a></p>'
    cell = '<a rel="noopener noreferrer"><strong>x|</strong></a>'
    chunk = replace(CHUNK, text="a *b*\n| x\\| | h |\n", inlines=inlines)
    for path in ("a.html", "a.eml"):
        html = rendered(replace(chunk, path=path))["html"]
        assert html.startswith(shown) and f"<td>{cell}</td>" in html and "<b>" not in html


def test_elements_without_words_and_lines_of_a_scan_leave_the_text_as_it_is():
    chunk = replace(CHUNK, ordinal=1, text="The turbine\n- hums")
    line, link = Inline(0, "The turbine", "line", "", (1, 1, 2, 3, 4)), Inline(4, "", "a", "https://example.org")
    assert rendered(replace(chunk, path="a.eml", inlines=(line,)))["html"] == "<p>The turbine\n- hums</p>\n"
    assert rendered(replace(chunk, path="a.html", inlines=(link,)))["html"].startswith("<p>The turbine</p>\n<ul>")


def test_the_headers_of_a_mail_are_apart_from_its_text():
    chunk = replace(CHUNK, path="a.eml", text="From: A <a@b.org>\nDate: 1: 2\n\nTo: all", fields=(("subject", "c"),))
    head = [("From", "A <a@b.org>"), ("Date", "1: 2"), ("Subject", "c")]
    assert rendered(chunk) == {"head": head, "html": "<p>To: all</p>\n"}
    inlines = (Inline(len(chunk.text) - len("all"), "all", "b"),)
    assert rendered(replace(chunk, inlines=inlines)) == {"head": head, "html": "<p>To: <b>all</b></p>\n"}
    others = (replace(chunk, path="a.md"), ""), (replace(chunk, ordinal=1), ""), (chunk, "```")
    assert not any("head" in rendered(*other) for other in others)


def test_the_text_of_a_mail_keeps_its_lines_and_signs():
    html = html_of("<ann at mail.org> wrote:\n> #1 is *b\n\n+  int a;\n- b\n# include <x.h>\n", is_mail=True)
    quoted = "<blockquote>\n<p>#1 is *b</p>\n</blockquote>"
    code = "<p>+  int a;\n- b\n# include &lt;x.h&gt;</p>"
    assert html == f"<p>&lt;ann at mail.org&gt; wrote:</p>\n{quoted}\n{code}\n"


def test_code_that_its_lexer_does_not_understand_is_not_coloured():
    assert coloured_lines('{"a": [true, 1]}', path="a.json") is not None
    assert coloured_lines('routes and the tree of it",\n "b": 2', path="a.json") is None


def test_front_matter_is_the_head_of_a_document_and_not_its_text():
    fields = (("author", "Ann"), ("tags", "old"), ("tags", "red"))
    chunk = Chunk("0", "a.md", None, 0, "a.md", "", (), "author: Ann - tags: old, red\n\nIt is so.", 0, 1, 9, None)
    found = rendered(replace(chunk, fields=fields))
    assert found == {"head": [("author", "Ann"), ("tags", "old, red")], "html": "<p>It is so.</p>\n"}
    assert "head" not in rendered(chunk)


def test_a_page_that_begins_within_a_list_is_shown_with_its_items():
    text = "- a\n        - b\n            - c\n    - d\n\n```\n    - e\n```"
    html = rendered(replace(CHUNK, path="a.html", text=text))["html"]
    assert re.findall(r"<(?!/)(ul|li)|(\w)(?=\n|<)", html) == [
        ("ul", ""), ("li", ""), ("", "a"), ("ul", ""), ("li", ""), ("", "b"), ("ul", ""), ("li", ""), ("", "c"),
        ("li", ""), ("", "d"), ("", "e"),
    ]  # fmt: skip


def test_the_rows_of_a_sheet_are_a_table_with_each_cell_in_its_column():
    places = LinePlaces(((1, ("Tools", "Thing | \u2013 | Bought")),), ((1, "B2:C2"), (2, "A3:C3")))
    sheet = replace(
        CHUNK, path="a.xlsx", record="Tools", text="Thing |  | Bought\n<b>saw | 7\na | b | c | d", places=places
    )
    assert rendered(replace(sheet, anchor="A1:C1"))["html"] == (
        "<table><tr><th>Thing</th><th></th><th>Bought</th></tr><tr><td></td><td>&lt;b&gt;saw</td><td>7</td></tr>"
        '<tr><td colspan="50">a | b | c | d</td></tr></table>'
    )
    assert len(rendered(replace(sheet, anchor="XFD1", text="Thing"))["html"]) < 100
