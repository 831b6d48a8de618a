import pytest

from cdesearch import status
from cdesearch.index import Index
from cdesearch.status import read_status
from indexer.build import build
from indexer.progress import Silent
from indexer.settings import Options

WORDS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone", "light"]


@pytest.fixture
def docs(tmp_path):
    """Of 150 files, 90 hold the same text."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(60):
        first, second = WORDS[number % 9], WORDS[number // 9]
        (folder / f"{number}.txt").write_text(f"the {first} and the {second} {number}")
    for number in range(90):
        (folder / f"{number}").mkdir()  # files of one name, for the title is part of the text
        (folder / f"{number}" / "licence.txt").write_text("bread bread bread bread")
    return folder


def drift_after(docs, checkpoint, **options):
    build([docs], Options(model=checkpoint, **options), Silent())
    return read_status(Index.open(docs))["drift"]


@pytest.mark.parametrize("sampled", [5000, 100])
def test_a_corpus_of_duplicates_has_not_drifted_right_after_a_refresh(docs, tiny_checkpoint, monkeypatch, sampled):
    monkeypatch.setattr(status, "DRIFT_SAMPLE", sampled)
    drift_after(docs, tiny_checkpoint)
    assert "large" not in drift_after(docs, tiny_checkpoint, refresh_context=True)


def test_a_corpus_that_changed_has_drifted_until_its_context_is_refreshed(docs, tiny_checkpoint):
    drift_after(docs, tiny_checkpoint)
    for number in range(200):
        (docs / f"new {number}.txt").write_text(f"stone engine light {number} stone engine light")
    assert "large" in drift_after(docs, tiny_checkpoint)
    assert "large" not in drift_after(docs, tiny_checkpoint, refresh_context=True)


def test_a_corpus_of_one_text_has_a_mean(docs, tiny_checkpoint, monkeypatch):
    for file in docs.rglob("*.txt"):
        file.write_text("the moon")
    monkeypatch.setattr(status, "DRIFT_SAMPLE", 1)
    build([docs], Options(model=tiny_checkpoint), Silent())
    assert status._corpus_mean(Index.open(docs)).shape == (16,)
