from hypothesis import given
from hypothesis import strategies as st

from cdesearch.search.sentences import split_sentences

PAGE = """# A title

Dr. Smith went to Rome. He saw it, e.g. the
forum. Then he left.

- an item. With two.
- another item
  continued here
1. one
2. two

| a | b |
|---|---|

```python
def f(x):
    return x

y = 1
```
Call `f(x)` to start. It returns x.

def g(a, b):
    return a + b

    An indented line of words
    is prose. So is this.

    pip install --user it

John Doe: Well I think so
Mary: yes. Indeed it is.
"""


EMPTY = " \n\r\t#*-"  # white space, and what lines of comments without words consist of


def texts(text):
    return [(sentence.kind, text[sentence.start : sentence.end]) for sentence in split_sentences(text)]


def test_sentences_respect_structure_and_abbreviations():
    assert texts(PAGE) == [
        ("heading", "# A title"),
        ("prose", "Dr. Smith went to Rome."),
        ("prose", "He saw it, e.g. the\nforum."),
        ("prose", "Then he left."),
        ("prose", "- an item."),
        ("prose", "With two."),
        ("prose", "- another item\n  continued here"),
        ("prose", "1. one"),
        ("prose", "2. two"),
        ("row", "| a | b |"),
        ("row", "|---|---|"),
        ("code", "```python\ndef f(x):\n    return x\n\ny = 1\n```"),
        ("prose", "Call `f(x)` to start."),
        ("prose", "It returns x."),
        ("code", "def g(a, b):\n    return a + b"),
        ("prose", "An indented line of words\n    is prose."),
        ("prose", "So is this."),
        ("code", "pip install --user it"),
        ("prose", "John Doe: Well I think so"),
        ("prose", "Mary: yes."),
        ("prose", "Indeed it is."),
    ]


def test_lines_that_begin_with_a_date_or_a_time_are_units():
    entries = ["03.05. Peas\n  and beans", "17.05. frost", "[14:02] Ann: hello", "[14:03] Bert: good day"]
    text = "\n".join([*entries, "\nIt took\n3 days."])
    assert texts(text) == [("prose", one) for one in [*entries, "It took\n3 days."]]


def test_lines_that_end_with_values_are_the_rows_of_a_table():
    rows = ["Rye bread 500 g 5.20", "Rolls, 6 pieces 3,40 \u20ac", "Total 8.60 EUR"]
    text = "\n".join(
        [
            "All is fresh today.\nProduct Price",
            *rows,
            "Open since\nMay 2024.\n\nJuniors 34 2,310\n\nCall 0191 384 2200.",
        ]
    )
    assert texts(text) == [
        ("prose", "All is fresh today."),
        ("prose", "Product Price"),
        *(("row", row) for row in rows),
        ("prose", "Open since\nMay 2024."),
        ("row", "Juniors 34 2,310"),
        ("prose", "Call 0191 384 2200."),
    ]


def test_a_fence_that_is_not_closed_is_code_to_the_end():
    assert texts("Look:\n\n```\na. B. c.\n\nD. e.") == [("prose", "Look:"), ("code", "```\na. B. c.\n\nD. e.")]


def test_comments_and_indented_lines_are_divided_into_prose_and_code():
    text = "// Package a does it.\n//\n//\tpackage main\n//\n//\tfunc main() {\n//\t}\n//\n// See b for more."
    assert [kind for kind, _ in texts(text)] == ["prose", "code", "code", "prose"]
    assert len(texts("git log \\\n  --\n  a.txt")) == 1  # no comment
    assert [kind for kind, _ in texts("1. port\n\n    Port to the Redis server. Default is 6379.")] == ["prose"] * 3


def test_points_in_names_end_no_sentence_and_closing_marks_stay_with_theirs():
    assert ("prose", "It is an http.Handler.") in texts("It is an http.Handler. See chi.Router for more.")
    text = '**Note.** It is so. He said: "Go." She went.'
    assert [part for _, part in texts(text)][:2] == ["**Note.**", "It is so."]
    german = [
        "Der Vertrag endet am 3. Juni.",
        "Die Praxis ist im 2. Stock, USt-IdNr. DE12.",
        "Die Kaution ist z. B. 5 Mio. Euro oder mehr.",
    ]  # of another language
    assert [part for _, part in texts(" ".join(german))] == german
    french = ["M. Dupont est parti hier soir.", "Mme. Durand est venue avec M. Martin."]
    assert [part for _, part in texts(" ".join(french))] == french
    items = ["open the file.", "Then close it.", "Done now."]
    assert [part for _, part in texts(f"1. {' '.join(items)}")] == [f"1. {items[0]}", *items[1:]]
    assert [part for _, part in texts("Smlouva končí 3. června.")] == ["Smlouva končí 3. června."]


@given(st.text(st.sampled_from("aB1 \n.|-#`~*:;(){}ü。!?\r\t…"), max_size=80))
def test_sentences_are_in_order_and_omit_only_white_space_and_marks_of_comments(text):
    end, kept = 0, ""
    for sentence in split_sentences(text):
        assert end <= sentence.start < sentence.end
        assert not text[end : sentence.start].strip(EMPTY)
        part = text[sentence.start : sentence.end]
        assert part == part.strip()
        end, kept = sentence.end, kept + part
    assert not text[end:].strip(EMPTY)
