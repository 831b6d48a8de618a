import pytest
import Stemmer

from cdesearch.words.detection import described, joined_shares, language_shares, main_language, unread
from cdesearch.words.known import LANGUAGES, names_of

ENGLISH = "The file is removed from the folder when the last user has closed it."
GERMAN = "Die Datei wird aus dem Verzeichnis entfernt, wenn der letzte Benutzer sie geschlossen hat."


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({}, "en"),
        ({"en": 0.9, "de": 0.1}, "en"),
        ({"de": 0.9, "en": 0.1}, "de"),
        ({"de": 0.4, "en": 0.4}, "en"),
        ({"ja": 0.9, "en": 0.1}, "ja"),
    ],
)
def test_the_main_language_is_the_most_frequent_one(shares, expected):
    assert main_language(shares) == expected


def test_the_share_of_each_language_is_that_of_its_texts():
    assert language_shares([ENGLISH] * 3 + [GERMAN] + ["1 2 3"]) == {"en": 0.6, "de": 0.2}
    assert language_shares([ENGLISH] * 199 + [GERMAN]) == {"en": 0.995}
    assert language_shares([]) == {}


def test_the_shares_of_parts_are_weighted_by_their_chunks():
    assert joined_shares([({"en": 1.0}, 30), ({"de": 0.5}, 10)]) == {"en": 0.75, "de": 0.125}
    assert joined_shares([({}, 0)]) == {}


def test_only_a_language_of_all_texts_has_the_whole_share():
    shares = language_shares([ENGLISH] * 29_999 + [GERMAN])
    assert shares == {"en": 0.9999} and described(shares) == "over 99% English"
    assert joined_shares([({"en": 1.0}, 29_999), ({}, 1)]) == {"en": 0.9999}
    assert joined_shares([({"en": 1.0}, 3), ({"en": 1.0}, 7)]) == {"en": 1.0}


def test_a_model_whose_languages_are_unknown_misses_nothing():
    assert unread({"de": 0.9, "en": 0.1}, ["en"]) == {"de": 0.9}
    assert unread({"de": 0.9}, []) == {}


def test_languages_are_named_in_words():
    assert described({"de": 0.9, "en": 0.1}) == "90% German, 10% English"
    assert described({"zh": 1.0}) == "100% Chinese"
    assert described({"zh": 0.9951}) == "over 99% Chinese" and described({"zh": 0.9949}) == "99% Chinese"
    assert names_of(["de", "ja", "ru"]) == "German, Japanese and Russian"
    assert names_of(["de"]) == "German" and names_of([]) == ""


def test_every_stemmer_exists():
    assert {language.stemmer for language in LANGUAGES.values() if language.stemmer} <= {*Stemmer.algorithms()}
