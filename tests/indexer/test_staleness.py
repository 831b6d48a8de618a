"""When an update advises a new context."""

import pytest

from cdesearch.progress import Silent
from indexer.build import build
from indexer.settings import Options


def write(docs, start, stop, sentence="the water is in the house"):
    docs.mkdir(exist_ok=True)
    for number in range(start, stop):
        (docs / f"{number}.md").write_text(f"{sentence} {number}")


def update(docs, model, **options):
    return build([docs], Options(model=model, **options), Silent())


@pytest.mark.parametrize(("n_later", "advised"), [(20, False), (22, True)])
def test_a_corpus_that_has_grown_many_times_needs_a_new_context(tmp_path, tiny_checkpoint, n_later, advised):
    docs = tmp_path / "docs"
    write(docs, 0, 4)
    assert update(docs, tiny_checkpoint).advice is None
    write(docs, 4, n_later)
    report = update(docs, tiny_checkpoint)
    assert (report.advice is not None and "had 4 chunks" in report.advice) == advised
    assert update(docs, tiny_checkpoint, refresh_context=True).advice is None


def test_other_documents_than_those_of_the_sample_need_a_new_context(tmp_path, tiny_checkpoint):
    docs = tmp_path / "docs"
    write(docs, 0, 32)
    assert update(docs, tiny_checkpoint).advice is None
    write(docs, 0, 32, "engine bread stone light dog")
    advice = update(docs, tiny_checkpoint).advice
    assert advice.startswith("The documents are unlike") and "--refresh-context" in advice
