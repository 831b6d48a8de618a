"""When an update advises a new context."""

from dataclasses import replace

import numpy as np
import pytest
from built import make_index

from cdesearch.cli.status import read_status
from cdesearch.errors import StorageError
from cdesearch.search.drift import measure_drift
from cdesearch.store.index import Index
from indexer import job
from indexer.staleness import staleness


@pytest.fixture
def docs(tmp_path):
    (tmp_path / "docs").mkdir()
    return tmp_path / "docs"


def write(docs, start, stop, sentence="the water is in the house"):
    for number in range(start, stop):
        (docs / f"{number}.md").write_text(f"{sentence} {number}")


@pytest.mark.slow
@pytest.mark.parametrize(("n_later", "advised"), [(20, False), (22, True)])
def test_a_corpus_that_has_grown_many_times_needs_a_new_context(docs, run, n_later, advised):
    write(docs, 0, 4)
    assert run().advice is None
    write(docs, 4, n_later)
    report = run()
    assert (report.advice is not None and "had 4 chunks" in report.advice) == advised
    assert run(refresh_context=True).advice is None


def test_other_documents_than_those_of_the_sample_need_a_new_context(docs, run):
    write(docs, 0, 32)
    assert run().advice is None
    write(docs, 0, 32, "engine bread stone light dog")
    advice = run().advice
    assert advice.startswith("The documents are unlike") and "--refresh-context" in advice


def test_a_new_context_that_embeds_nothing_is_sampled_by_the_update_itself(docs, closed_checkpoint):
    def run(**options):
        return make_index([docs], model=closed_checkpoint, **options)

    write(docs, 0, 4)
    run()
    before = Index.open(docs).context
    write(docs, 4, 22)
    left = run(keeps_context=True)
    assert left.embedded == 18 and left.renewed is None and "had 4 chunks; it has 22 now" in left.advice
    report = run()
    assert (report.changed, report.embedded, report.advice) == (True, 0, None)
    assert report.renewed == (
        "The context was sampled when the index had 4 chunks; it has 22 now. So a new one was sampled, and no text had"
        " to be embedded again."
    )
    after = Index.open(docs)
    assert after.manifest.context_chunks == 22 and after.context.fingerprint != before.fingerprint
    np.testing.assert_array_equal(after.context.inputs.token_weights, before.inputs.token_weights)
    assert not run().changed


def test_every_run_stores_the_drift_and_the_size_of_the_corpus_that_was_sampled(docs, run):
    write(docs, 0, 32)
    run()
    first = Index.open(docs)
    assert first.manifest.context_chunks == 32 and first.manifest.drift < 1
    write(docs, 20, 48, "engine bread stone light dog")
    run()
    second = Index.open(docs)
    assert second.manifest.context_chunks == 32
    assert second.manifest.drift == pytest.approx(measure_drift(second), rel=1e-4)
    assert f"({second.manifest.drift:.1f} standard errors)" in read_status(second)["drift"]
    run(refresh_context=True)
    third = Index.open(docs)
    assert third.manifest.context_chunks == 48 and third.manifest.drift < second.manifest.drift


def test_a_large_corpus_needs_a_new_context_only_if_its_documents_differ(docs, run):
    write(docs, 0, 32)
    run()
    manifest = Index.open(docs).manifest
    assert "had 500 chunks" in staleness(replace(manifest, context_chunks=500, n_chunks=5000))
    assert staleness(replace(manifest, context_chunks=10_000, n_chunks=100_000)) is None
    large = replace(manifest, context_chunks=10_000, n_chunks=100_000, context_size=512)
    assert staleness(replace(large, drift=6.0)) is None  # a certain difference, but a small one: .27
    assert "unlike" in staleness(replace(large, drift=12.0))
    assert staleness(replace(large, context_size=16, drift=2.9)) is None  # a large difference, but not a certain one


def test_an_update_is_complete_although_a_new_context_cannot_be_sampled(docs, closed_checkpoint, monkeypatch):
    write(docs, 0, 4)
    make_index([docs], model=closed_checkpoint)
    write(docs, 4, 40)
    with monkeypatch.context() as patched:
        full = StorageError("The disk is full.", "Free some space and run the same command again.")
        patched.setattr(job, "fit_whitening", lambda *_: (_ for _ in ()).throw(full))
        report = make_index([docs], model=closed_checkpoint)
    assert report.embedded == 36
    assert "A new one could not be sampled: The disk is full." in report.renewed
    assert Index.open(docs).manifest.n_chunks == 40
    again = make_index([docs], model=closed_checkpoint)
    assert "So a new one was sampled, and no text had to be embedded again." in again.renewed
