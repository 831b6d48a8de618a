import pytest

from cdesearch.words.compounds import LEAST_VOCABULARY, MOST_COMPOUNDS, Vocabulary

WORDS = ["arbeitsspeicher", "speicherverwaltung", "verwaltung", "arbeit", "speicherte", "testwert", "zwischenspeichern"]


def vocabulary(words, n_frequent=0, fill=LEAST_VOCABULARY):
    return Vocabulary((*words, *(f"x{number}" for number in range(fill))), n_frequent)


def test_a_word_is_found_at_either_end_of_a_compound_of_known_words():
    known = vocabulary([*WORDS, "zwischen"])
    expected = ["arbeitsspeicher", "speicherverwaltung", "zwischenspeichern"]
    for form in ("Speicher", "speichers", "Speichern"):
        assert known.compounds_of(form, "de") == expected


def test_a_word_with_an_unknown_rest_is_a_compound_only_in_a_small_vocabulary():
    assert "zwischenspeichern" not in vocabulary(WORDS).compounds_of("Speicher", "de")
    assert "zwischenspeichern" in vocabulary(WORDS, fill=0).compounds_of("Speicher", "de")


def test_only_the_most_frequent_compounds_are_returned():
    words = [f"{letter}acht" for letter in "abcdefghijkl"]
    compounds = [f"{word}speicher" for word in words]
    assert vocabulary([*compounds, *words]).compounds_of("Speicher", "de") == compounds[:MOST_COMPOUNDS]


@pytest.mark.parametrize(
    ("word", "language"), [("Speicher", "en"), ("Speicher", "fi"), ("rat", "de"), ("a*b(", "de"), ("", "de")]
)
def test_words_without_compounds(word, language):
    assert vocabulary(WORDS, fill=0).compounds_of(word, language) == []


def test_a_frequent_word_needs_no_compounds():
    words = ["speicher", *WORDS]
    assert vocabulary(words, 1).compounds_of("Speicher", "de") == []
    assert vocabulary(words).compounds_of("Speicher", "de") == ["arbeitsspeicher", "speicherverwaltung"]


@pytest.mark.parametrize(
    ("language", "word", "compound", "other"),
    [
        ("nl", "bestanden", "bestandsnaam", "naam"),
        ("da", "filer", "filnavne", "navne"),
        ("sv", "minnen", "arbetsminne", "arbete"),
        ("no", "katalogen", "arbeidskatalog", "arbeid"),
    ],
)
def test_other_languages_that_join_words(language, word, compound, other):
    found = vocabulary([compound, other]).compounds_of(word, language)
    assert found == ([] if language == "da" else [compound])  # "fil" has too few letters
