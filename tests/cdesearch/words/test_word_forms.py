import pytest

from cdesearch.words.word_forms import piece_spans, pieces, word_spans, word_stem


@pytest.mark.parametrize(
    ("token", "word", "expected"),
    [
        ("engines", "engine", True),
        ("running", "runner", True),
        ("stone", "storm", False),
        ("time", "timeouts", False),
        ("timeouts", "timeout", True),
        ("set", "setup", False),
        ("update", "ups", False),
        ("rfc2612", "rfc2616", False),
        ("rfc2616bis", "rfc2616", True),
        ("الملفات", "ملفات", True),
    ],
)
def test_forms_of_a_word_are_marked(token, word, expected):
    assert bool([*word_spans(token, [word_stem(word)])]) == expected


def test_words_of_scripts_without_spaces_are_cut_into_pieces():
    assert pieces("ファイルを削除する the file") == ["ファ", "ァイ", "イル", "ルを", "を削", "削除", "除す"]
    assert pieces("する") == ["する"] and pieces("犬") == ["犬"] and pieces("file") == []


def test_pieces_that_touch_are_one_span():
    text = "設定ファイルを削除する"
    assert [text[start:end] for start, end in piece_spans(text, pieces("ファイルの削除"))] == ["ファイル", "削除"]
