import pyarrow as pa
import pytest

from cdesearch.languages.compounds import Vocabulary
from indexer.embedding import vocabulary
from indexer.embedding.languages import LEAST_FREQUENT, vocabulary_of


class Texts:
    """Chunks with these texts, in one window each."""

    def __init__(self, *texts):
        self.texts = texts

    def windows(self, columns=None):
        return (pa.record_batch({"text": [text]}) for text in self.texts)

    def count(self):
        return len(self.texts)


def test_words_are_counted_once_in_a_chunk_and_the_most_frequent_come_first():
    found = vocabulary_of(Texts("Datei Datei Datei abc", "Verzeichnis und Größe", "verzeichnis_2 x9y7z"))
    assert found == Vocabulary(("verzeichnis", "datei", "größe"), 0)


@pytest.mark.parametrize(("n_chunks", "is_frequent"), [(LEAST_FREQUENT, False), (LEAST_FREQUENT + 1, True)])
def test_a_word_in_a_few_chunks_is_not_frequent(n_chunks, is_frequent):
    assert vocabulary_of(Texts(*["Datei"] * n_chunks)).n_frequent == is_frequent


def test_an_update_adds_the_words_that_the_base_lacks():
    base = Vocabulary(("verzeichnis", "datei"), 1)
    assert vocabulary_of(Texts("Datei Größe", "Inhalt Größe"), base) == Vocabulary(
        ("verzeichnis", "datei", "größe", "inhalt"), 1
    )


def test_the_rarest_of_very_many_words_are_forgotten(monkeypatch):
    monkeypatch.setattr(vocabulary, "MOST_WORDS", 2)
    monkeypatch.setattr(vocabulary, "MOST_COUNTED", 3)
    assert vocabulary_of(Texts("eins zwei", "eins zwei drei vier", "fünf")).words == ("eins", "zwei")
