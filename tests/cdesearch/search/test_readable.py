"""The passage of a hit shows the lines that can answer the query, as text."""

import pytest

from cdesearch.search.passage_lines import query_words, shown_lines
from cdesearch.search.readable import is_marked_up, lines_as_text, without_markup
from cdesearch.store.schema import Chunk, Hit


def passage(body, query, title="", trail=(), path="a.md"):
    text = "\n".join(body)
    chunk = Chunk("1", path, None, 0, path, title, tuple(trail), text, 0, 1, len(body), None)
    return [line.text for line in shown_lines(Hit(1, 1.0, chunk, None, None), query_words(query), full=False)]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("## How to **bake** *bread*", "How to bake bread"),
        ("See [the recipe](bread.md#dough) and ![a loaf](loaf.png \"Loaf\").", "See the recipe and a loaf."),
        ("Ask [[people/Ann|Ann]] about [[Sourdough]] and ![[loaf.png]].", "Ask Ann about Sourdough and loaf.png."),
        ("~~old~~ ==new== [by][1], see <https://a.org/b_c_d>[^2]", "old new by, see https://a.org/b_c_d"),
        ("[a [b] c](<d e.md>) [![logo](l.png)](https://a.org/x_(y))", "a [b] c logo"),
        ("def f(*args, **kwargs): return 2 ** 3 ** 2", "def f(*args, **kwargs): return 2 ** 3 ** 2"),
        ("a * b * c and snake_case_name, __init__ and `*code*`", "a * b * c and snake_case_name, __init__ and *code*"),
        ("_one_ __two words__ ***three*** ``a ` b`` **use `ls`**", "one two words three a ` b use ls"),
        ("- [ ] Buy `flour`", "☐ Buy flour"),
        ("  * [x] Bake", "  ☑ Bake"),
        ("| Oven | 230 \\| 250 °C | `a` |", "Oven · 230 | 250 °C · a"),
        ("|---|:-:|", ""),
        ("ls | wc and a|b", "ls | wc and a|b"),
        ("1\\. not \\*marked\\* &amp; `&amp;` Tom \\& Jerry&nbsp;&lt;b&gt;", "1. not *marked* & &amp; Tom & Jerry <b>"),
        ('<kbd>Esc</kbd> <b>bold</b> <span style="a">red</span> List<T> <a@b.org>', "Esc bold red List<T> a@b.org"),
        ("un**believ**able <!-- a comment --> and %%another%%", "unbelievable  a comment  and another"),
        ("> [!warning]- Hot oven ^block-1", "Hot oven"),
        ("[^1]: The fee.", "The fee."),
        (": A definition", "A definition"),
        ("`List <T>` <img src='a.png' alt=\"a 'b'\" width=9/> <img src=c>", "List <T> a 'b' "),
    ],
)  # fmt: skip
def test_markdown_is_shown_as_text(line, text):
    assert without_markup(line) == text


def test_code_between_fences_stays_as_it_is_and_the_fences_go():
    code = "a[0](x) # **b** `c`"
    assert lines_as_text("a.md", ["```py", code, "```", "**d**"]) == ["", code, "", "d"]
    assert lines_as_text("a.md", [code, "```", "**d**"]) == [code, "", "d"], "the fence above is in another chunk"
    assert passage(["~~~", code, "~~~"], "b") == [code]


def test_marks_of_code_and_links_over_two_lines_are_left_out():
    lines = [
        "Write `update =",
        "false` below `[query]` in [the",
        "file](a.md). Then `a` and",
        "`b` follow.",
        "```",
        "x `y",
        "z`",
        "```",
        "An `odd",
        "",
        "one`",
    ]
    assert lines_as_text("a.md", lines) == [
        "Write update =", "false below [query] in the", "file. Then a and", "b follow.", "",
        "x `y", "z`", "", "An `odd", "", "one`"
    ]  # fmt: skip


def test_code_and_plain_text_are_shown_as_they_are():
    paths = ["a.md", "b.html", "c.docx.gz", "d.py", "e.txt", "f.csv"]
    assert [is_marked_up(path) for path in paths] == [True, True, True, False, False, False]


@pytest.mark.parametrize(
    ("body", "query", "shown"),
    [
        (["---", "The oven is hot.", "***", "```python", "bake()", "```"], "oven", ["The oven is hot.", "bake()"]),
        (["From: Ann", "To: Ben", "Date: today", "The rent rises."], "rent", ["The rent rises."]),
        (["From: Ann", "To: Ben", "Date: today", "The rent rises."], "rent of ann", ["From: Ann", "The rent rises."]),
        (["# Plan", "## Rent", "It rises."], "rent", ["It rises."]),
        (["Plan", "It rises."], "plan", ["It rises."]),
        (["Hi Bob,", "I am well.", "Are you?", r"Set max\_rent.", "Ann"], "max_rent", ["Set max_rent.", "Ann"]),
        (["---", "***"], "rent", ["---", "***"]),
    ],
    ids=["rules and fences", "the head of a mail", "a field with a word", "headings above the passage",
         "the title above the passage",
         "lines above a word", "nothing else"],
)  # fmt: skip
def test_lines_that_cannot_answer_are_left_out(body, query, shown):
    assert passage(body, query, title="Plan", trail=["Rent"]) == shown


def test_fields_of_front_matter_are_left_out_in_markdown_alone():
    body = ["tags: house", "The boiler leaks."]
    assert passage(body, "boiler") == body[1:] and passage(body, "boiler", path="api.yaml") == body


def test_a_passage_does_not_end_at_the_heading_above_its_answer():
    body = ["One.", "Two.", "Three.", "## The rent", "It is 800 a month.", "Paid on the first.", "By transfer."]
    assert passage(body, "rent") == ["The rent", *body[4:]]
    assert passage(body, "one two") == body[:3]
    assert passage(["One.", "## The rent", *body[4:]], "rent") == ["The rent", *body[4:]]
