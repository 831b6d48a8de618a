import pytest
from built import WORDS, make_index, write_files

from cdesearch.cli.status import read_status
from cdesearch.store.index import Index


@pytest.fixture
def docs(tmp_path):
    """150 files, 90 of which contain the same text."""
    texts = {f"{n}.txt": f"the {WORDS[n % 9]} and the {WORDS[n // 9]} {n}" for n in range(60)}
    # The other files have the same name, because the title is part of the text.
    return write_files(tmp_path / "docs", texts | {f"{n}/licence.txt": "bread bread bread bread" for n in range(90)})


def drift_after(docs, checkpoint, **options):
    make_index([docs], model=checkpoint, **options)
    return read_status(Index.open(docs))["drift"]


@pytest.mark.slow
def test_a_corpus_that_changed_has_drifted_until_its_context_is_refreshed(docs, tiny_checkpoint):
    drift_after(docs, tiny_checkpoint)
    for number in range(200):
        (docs / f"new {number}.txt").write_text(f"stone engine light {number} stone engine light")
    drift = drift_after(docs, tiny_checkpoint)
    assert drift.startswith("large") and "`cdesearch index --refresh-context --index" in drift
    assert "large" not in drift_after(docs, tiny_checkpoint, refresh_context=True)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1000, 40])
def test_documents_of_uneven_length_are_not_drift(tmp_path, tiny_checkpoint, size):
    """Long documents have one subject, and short documents another. The sample contains all texts or some of them."""
    for number in range(30):
        (tmp_path / f"{number}.txt").write_text(f"the cat and the dog {number}")
    for number in range(3):
        lines = "".join(f"stone engine light {number} {line} " * 20 + "\n\n" for line in range(60))
        (tmp_path / f"long {number}.txt").write_text(lines)
    drift = drift_after(tmp_path, tiny_checkpoint, context_size=size)
    assert "large" not in drift and (size == 40 or "(0.0 standard errors)" in drift)
