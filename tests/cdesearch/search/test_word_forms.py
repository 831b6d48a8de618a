import pytest

from cdesearch.search.word_forms import is_form_of


@pytest.mark.parametrize(
    ("token", "word", "expected"),
    [
        ("engines", "engine", True),
        ("running", "runner", True),
        ("cats", "cat", True),
        ("catalogue", "cat", False),
        ("stone", "storm", False),
    ],
)
def test_forms_of_a_word_are_recognised(token, word, expected):
    assert is_form_of(token, word) == expected
