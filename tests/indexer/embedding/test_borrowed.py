"""A second checkout is indexed with the vectors of the first one, and gives the same hits."""

import shutil

import pytest
from built import assert_same, contents, make_index

from cdesearch.errors import IndexDamagedError
from cdesearch.store import known
from cdesearch.store.copies import user_cache
from cdesearch.store.index import Index
from indexer import job
from indexer.embedding import borrowed
from indexer.embedding.embedding_cache import EmbeddingCache


@pytest.fixture
def first(docs, tmp_path, monkeypatch):
    """An index of the default model, which others may borrow vectors from."""
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))
    for module in (job, borrowed):
        monkeypatch.setattr(module, "LEAST_CHUNKS", 10)
    assert make_index([docs]).embedded == 12
    return docs


def checkout(docs, name="second"):
    return shutil.copytree(docs, docs.parent / name, ignore=shutil.ignore_patterns(".cdesearch"))


def test_a_second_checkout_embeds_only_what_differs(first):
    second = checkout(first)
    assert make_index([second]).embedded == 0
    assert_same(contents(first), contents(second))
    third = checkout(first, "third")
    (third / "00.md").write_text("the xylophone is new")
    assert make_index([third]).embedded == 1
    (third / "01.md").write_text("the marimba is newer")
    assert make_index([third]).embedded == 1, "an update goes on from there"


def test_a_corpus_with_few_texts_of_another_one_has_its_own_weights(first):
    other = checkout(first)
    for file in sorted(other.iterdir())[:7]:
        file.write_text(f"another text of {file.name}")
    assert make_index([other]).embedded == 12


@pytest.mark.slow
def test_indexes_that_are_gone_or_damaged_lend_nothing(first, monkeypatch):
    assert (user_cache() / known.FILE).stat().st_mode & 0o077 == 0 and user_cache().stat().st_mode & 0o077 == 0
    monkeypatch.setattr(borrowed, "ROWS", 4)
    take, taken = EmbeddingCache.take, []

    def broken(cache, rows):
        if taken:
            raise IndexDamagedError("A part is missing.", "Rebuild it.")
        taken.append(take(cache, rows))

    with monkeypatch.context() as patched:
        patched.setattr(EmbeddingCache, "take", broken)
        assert make_index([checkout(first)]).embedded == 12 and taken
    shutil.rmtree(first / ".cdesearch")
    shutil.rmtree(first.parent / "second")
    assert make_index([checkout(first, "third")]).embedded == 12
    (user_cache() / known.FILE).write_text("{")
    assert make_index([checkout(first, "fourth")], rebuild=True).embedded == 12
    assert Index.open(first.parent / "fourth").manifest.is_complete
