import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdesearch.terminal import print_json, printable

KEPT = [
    "a\u200db",
    "\u0645\u06cc\u200c\u062e",
    "10\u00a0km",
    "\u3000漢字",
    "👩\u200d💻",
    "co\u00adop",
    "\ue000",
]


@pytest.mark.parametrize("text", KEPT)
def test_letters_joiners_and_every_kind_of_space_are_kept(text):
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\nb\rc", "a\\x0ab\\x0dc"),
        ("a\tb", "a\\x09b"),
        ("invoice\u202efdp.exe", "invoice\\u202efdp.exe"),
        ("a\u2028b", "a\\u2028b"),
        ("\udcff", "\\udcff"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_what_steers_a_terminal_or_deceives_a_reader_is_escaped(text, shown):
    assert printable(text) == shown


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_printed_can_be_encoded_and_holds_no_control_character(text):
    shown = printable(text)
    shown.encode()
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert printable(shown) == shown


def test_json_on_a_pipe_is_utf8_and_parses(capsys):
    print_json({"text": "漢 \x1b \u202e"})
    written = capsys.readouterr().out
    assert json.loads(written) == {"text": "漢 \x1b \u202e"} and "\x1b" not in written
