import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdesearch.words.characters import normal


@pytest.mark.parametrize(
    ("written", "searched"),
    [
        ("u\u0308ber", "über"),
        ("\u1112\u1161\u11ab", "한"),
        ("coun\u00adter\u200brev\u2060o\ufefflution\u200e", "counterrevolution"),
        ("a\u200db\u200c", "ab"),
        ("ﬁne oﬃce ﬂoor", "fine office floor"),
        ("ＡＢＣ－１２３", "ABC-123"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("葛\U000e0100城", "葛城"),
        ("ﻣﺮﺣﺒﺎ", "مرحبا"),
        ("\x1b[1;31mERROR\x1b[0m \x1b[38;5;208mpool\x1b[K\x1b(B", "ERROR pool"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x07", "link"),
        ("\x1b]0;title of the window\x07make", "make"),
        ("cannot\x1b[1Cmount", "cannot mount"),
        ("N\x08NA\x08AM\x08ME\x08E _\x08f_\x08i", "NAME fi"),
        ("a\0\0\0b", "a b"),
    ],
)
def test_characters_that_look_alike_and_those_that_do_not_show_are_searched_alike(written, searched):
    assert normal(written) == searched


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",  # Persian words have joiners between their letters
        "क्\u200dष",
        "👩\u200d❤\ufe0f\u200d👨",
        "人人，自由！（平等）：x²",  # the marks of Chinese sentences, and signs that are no other way to write a letter
        "tab\tand\nline\fpage",
    ],
)
def test_characters_with_a_meaning_stay(text):
    assert normal(text) == text


@given(st.text() | st.text("\x1b[]\x07\x080;m\nab\u0301\u00ad\u200d\uff41"))
def test_a_normal_text_keeps_its_lines_and_has_no_control_characters(text):
    found = normal(text)
    assert found.count("\n") == text.count("\n")
    assert not re.search(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u00ad\u200b]", found)
    assert unicodedata.is_normalized("NFC", found)
