import pytest

from cdesearch.search.corpus_languages import Languages

ENGLISH = "The file is removed from the folder when the last user has closed it."
GERMAN = "Die Datei wird aus dem Verzeichnis entfernt, wenn der letzte Benutzer sie geschlossen hat."
MIXED = Languages({"de": 0.1, "ja": 0.1}, frozenset({"en"}), frozenset({"en", "de", "ja"}))
ALL_ENGLISH = Languages({}, frozenset({"en"}), frozenset({"en"}))


@pytest.mark.parametrize("query", ["how to remove a file", "die hard", "удалить файл", "ファイルを削除"])
def test_no_query_is_blind_in_a_corpus_that_the_model_reads(query):
    assert ALL_ENGLISH.blindness(query, [GERMAN]) == 0
    assert ALL_ENGLISH.searched(query) == query


def test_words_of_an_unread_script_make_a_query_blind_in_proportion():
    shares = [MIXED.blindness(f"how does the {word}", [ENGLISH]) for word in ("file", "削除", "ファイルを削除する方法")]
    assert 0 == shares[0] < shares[1] < shares[2] < 1


def test_a_query_without_function_words_has_the_language_of_the_chunks_that_contain_it():
    assert MIXED.blindness("Datei Verzeichnis", [GERMAN] * 10) == 1
    assert MIXED.blindness("folder", [ENGLISH] * 10) == 0
    assert MIXED.blindness("Datei", [GERMAN, ENGLISH]) == 0.5
    assert MIXED.blindness("Datei", []) == pytest.approx(0.2)


def test_function_words_show_the_language_of_a_query():
    assert MIXED.blindness("wie wird die Datei entfernt", [ENGLISH]) > 0.7
    assert MIXED.blindness("how is the Datei removed", [GERMAN]) < 0.3


def test_full_text_leaves_out_function_words_of_the_language_of_the_query():
    assert MIXED.searched("wie wird die Datei entfernt").split() == ["Datei", "entfernt"]
    assert MIXED.searched("how is the file removed") == "how is the file removed"
    assert MIXED.searched("wie wird die") == "wie wird die"
