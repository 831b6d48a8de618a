import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdesearch.terminal import print_json, print_rows, print_text, printable

KEPT = ["a\u200db", "\u0645\u06cc\u200c\u062e", "10\u00a0km", "\u3000漢字", "👩\u200d💻", "co\u00adop", "\ue000"]


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
def test_unsafe_characters_are_escaped(text, shown):
    assert printable(text) == shown


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_printed_can_be_encoded_and_holds_no_control_character(text):
    shown = printable(text)
    shown.encode()
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert printable(shown) == shown


def test_json_on_a_pipe_is_utf8_and_parses(capsys):
    value = {"text": "漢 \x1b \u202e \x9b"}
    print_json(value)
    written = capsys.readouterr().out
    assert json.loads(written) == value
    assert "漢" in written and not {"\x1b", "\u202e", "\x9b"}.intersection(written)


ROWS = [("model fingerprint", "4a7d0528d9cac1707f50af7b16fdc04b"), ("drift", "none")]


def test_rows_on_a_pipe_are_one_line_each(capsys):
    print_rows(ROWS)
    assert capsys.readouterr().out == ("model fingerprint  4a7d0528d9cac1707f50af7b16fdc04b\ndrift              none\n")


def test_a_narrow_terminal_wraps_cells_between_words(capsys, monkeypatch):
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "40"}.items():
        monkeypatch.setenv(name, value)
    print_rows(ROWS)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40 and lines[0].startswith("model fingerprint  4a7d")
    assert lines[1].startswith(" " * 19) and lines[1].strip() and lines[2].startswith("drift ")
    print_text("`cdesearch index DOCS --model NAME` uses one, and fetches it if it is not here.")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40 and lines[0].endswith("uses")
    print_rows([("to fetch", "jxm/cde-small-v2", "CDE on ModernBERT, 306M parameters", " 1.2 GB")])
    assert capsys.readouterr().out == "to fetch  jxm/cde-small-v2  CDE on\n  ModernBERT, 306M parameters  1.2 GB\n"
