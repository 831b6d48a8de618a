"""When an update advises a new context."""

from dataclasses import replace

import pytest

from cdesearch.cli.status import read_status
from cdesearch.progress import Silent
from cdesearch.search.drift import measure_drift
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options
from indexer.staleness import staleness


def write(docs, start, stop, sentence="the water is in the house"):
    docs.mkdir(exist_ok=True)
    for number in range(start, stop):
        (docs / f"{number}.md").write_text(f"{sentence} {number}")


def update(docs, model, **options):
    return build([docs], Options(model=model, **options), Silent())


@pytest.mark.slow
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


def test_every_run_stores_the_drift_and_the_size_of_the_corpus_that_was_sampled(tmp_path, tiny_checkpoint):
    docs = tmp_path / "docs"
    write(docs, 0, 32)
    update(docs, tiny_checkpoint)
    first = Index.open(docs)
    assert first.manifest.context_chunks == 32 and first.manifest.drift < 1
    write(docs, 20, 48, "engine bread stone light dog")
    update(docs, tiny_checkpoint)
    second = Index.open(docs)
    assert second.manifest.context_chunks == 32
    assert second.manifest.drift == pytest.approx(measure_drift(second).standard_errors, rel=1e-4)
    assert f"({second.manifest.drift:.1f} standard errors)" in read_status(second)["drift"]
    update(docs, tiny_checkpoint, refresh_context=True)
    third = Index.open(docs)
    assert third.manifest.context_chunks == 48 and third.manifest.drift < second.manifest.drift


def test_a_large_corpus_needs_a_new_context_only_if_its_documents_differ(tmp_path, tiny_checkpoint):
    docs = tmp_path / "docs"
    write(docs, 0, 32)
    update(docs, tiny_checkpoint)
    manifest = Index.open(docs).manifest
    assert "had 500 chunks" in staleness(replace(manifest, context_chunks=500, n_chunks=5000))
    assert staleness(replace(manifest, context_chunks=10_000, n_chunks=100_000)) is None
    large = replace(manifest, context_chunks=10_000, n_chunks=100_000, context_size=512)
    assert staleness(replace(large, drift=6.0)) is None  # a certain difference, but a small one: .27
    assert "unlike" in staleness(replace(large, drift=12.0))
    assert staleness(replace(large, context_size=16, drift=2.9)) is None  # a large difference, but not a certain one
