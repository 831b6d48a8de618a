import pytest

from cdesearch.words.word_forms import is_form_of, piece_spans, pieces


@pytest.mark.parametrize(
    ("token", "word", "expected"),
    [
        ("engines", "engine", True),
        ("running", "runner", True),
        ("cats", "cat", True),
        ("catalogue", "cat", False),
        ("stone", "storm", False),
        ("rfc2612", "rfc2616", False),
        ("rfc2616bis", "rfc2616", True),
    ],
)
def test_forms_of_a_word_are_recognised(token, word, expected):
    assert is_form_of(token, word) == expected


def test_words_of_scripts_without_spaces_are_cut_into_pieces():
    assert pieces("ファイルを削除する the file") == ["ファ", "ァイ", "イル", "ルを", "を削", "削除", "除す"]
    assert pieces("する") == ["する"] and pieces("犬") == ["犬"] and pieces("file") == []


def test_pieces_that_touch_are_one_span():
    text = "設定ファイルを削除する"
    assert [text[start:end] for start, end in piece_spans(text, pieces("ファイルの削除"))] == ["ファイル", "削除"]


def test_the_article_of_arabic_does_not_hide_a_word():
    assert is_form_of("الملفات", "ملفات") and is_form_of("ملفات", "الملفات")
