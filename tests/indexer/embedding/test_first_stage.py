"""The first-stage vectors that an index keeps, from which an update and a new context compute the vectors of chunks."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from built import WORDS, contents, long_text, make_index
from conftest import TINY, make_checkpoint

from cdesearch.errors import IndexDamagedError
from cdesearch.progress import Silent
from cdesearch.store.index import Index
from cdesearch.store.vector_format import KINDS, VectorFormat
from indexer import job
from indexer.embedding import embedding_cache
from indexer.embedding.embedding_cache import EmbeddingCache

PARTS = list(enumerate(WORDS))
FLOATS = [kind for kind in KINDS if VectorFormat(kind, 1).keeps_first_stage]


@pytest.fixture
def run(docs, closed_checkpoint):
    """Builds or updates an index of a model that does not read the context."""
    (docs / "long.md").write_text(long_text(PARTS))

    def run(progress=None, **options):
        return make_index([docs], progress, model=closed_checkpoint, **options)

    return run


def assert_equal(one, other):
    assert one[0].equals(other[0])
    np.testing.assert_allclose(one[1], other[1], atol=1e-6)  # products of several rows are rounded differently


@pytest.mark.parametrize("kind", [FLOATS[1], pytest.param(FLOATS[0], marks=pytest.mark.slow)])
def test_a_build_an_update_and_a_new_context_give_the_same_vectors(docs, run, kind):
    run(vectors=kind)
    first, context = contents(docs), Index.open(docs).context
    text = (docs / "03.md").read_text()
    (docs / "03.md").write_text("the engine")
    (docs / "long.md").write_text(long_text([*PARTS[:4], (4, "stone"), *PARTS[5:]]))
    assert run().embedded == 2
    (docs / "03.md").write_text(text)
    (docs / "long.md").write_text(long_text(PARTS))
    assert run().embedded == 0
    assert_equal(contents(docs), first)
    assert run(refresh_context=True).embedded == 0
    assert_equal(contents(docs), first)
    refreshed = Index.open(docs).context
    assert refreshed.fingerprint == context.fingerprint and refreshed.sampled == context.sampled
    np.testing.assert_array_equal(refreshed.whitening.projection, context.whitening.projection)
    np.testing.assert_allclose(refreshed.sample_vectors, context.sample_vectors, atol=1e-6)


class Totals(Silent):
    """Records the totals of the stages of a run."""

    def __init__(self):
        self.of = {}

    def stage(self, name, total):
        self.of[name] = total
        return super().stage(name, total)


def test_a_new_context_reads_and_embeds_only_what_has_changed(docs, run, closed_checkpoint):
    run(context_size=4)
    (docs / "03.md").unlink()
    (docs / "new.md").write_text("the river is new")
    totals = Totals()
    report = run(totals, refresh_context=True, seed=1, context_size=8)
    assert report.embedded == totals.of["Reading"] == totals.of["Embedding"] == 1
    assert "Counting words" not in totals.of, "the tokens keep their weights"
    index = Index.open(docs)
    assert (index.manifest.seed, index.manifest.context_size, index.manifest.n_documents) == (1, 8, 13)


def test_a_new_context_keeps_the_documents_of_a_source_that_does_not_exist_now(docs, closed_checkpoint, tmp_path):
    make_index([docs], index=tmp_path / "index", model=closed_checkpoint)
    before = contents(tmp_path / "index")
    docs.rename(tmp_path / "away")
    report = make_index([], index=tmp_path / "index", refresh_context=True, seed=1)
    assert report.changed and report.embedded == 0 and contents(tmp_path / "index")[0].equals(before[0])


@pytest.mark.parametrize(
    ("model", "kind"), [("tiny_checkpoint", "float16"), ("closed_checkpoint", "int8"), ("closed_checkpoint", "binary")]
)
def test_without_vectors_that_stay_a_new_context_embeds_all_texts(docs, request, model, kind):
    checkpoint = request.getfixturevalue(model)
    n_chunks = make_index([docs], model=checkpoint, vectors=kind).chunks
    index = Index.open(docs)
    assert index.manifest.embeds_on_refresh
    assert (index.generation / "tables" / "first_stage.lance").is_dir() == (kind == "float16")
    assert make_index([docs], refresh_context=True, seed=1).embedded == n_chunks


@pytest.mark.parametrize("options", [{}, {"refresh_context": True, "seed": 1}])
def test_a_build_that_was_stopped_at_its_end_has_the_context_of_the_files_as_they_are_then(
    docs, run, monkeypatch, options
):
    if options:
        run()
    with monkeypatch.context() as patched:
        patched.setattr(job, "write_checksums", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run(**options)
    (docs / "long.md").unlink()
    for number in range(20):
        (docs / f"more {number}.md").write_text(f"the river {number} and the light")
    assert run(**options).embedded == 20
    continued, context = contents(docs), Index.open(docs).context
    assert set(context.sampled.chunk_ids) <= set(continued[0]["id"].to_pylist())
    assert run(**options | {"refresh_context": True}).embedded == 0
    assert_equal(contents(docs), continued)
    assert Index.open(docs).context.fingerprint == context.fingerprint


@pytest.mark.parametrize("stopped", ["write_files", "write_checksums"])
def test_a_build_of_int8_vectors_that_was_stopped_at_its_end_is_continued(docs, run, monkeypatch, stopped):
    with monkeypatch.context() as patched:
        patched.setattr(job, stopped, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run(vectors="int8")
    report = run(vectors="int8")
    assert report.embedded == (0 if stopped == "write_files" else report.chunks)
    continued = contents(docs)
    run(vectors="int8", rebuild=True)
    assert_equal(contents(docs), continued)


@pytest.mark.parametrize("joins", [False, True])
@pytest.mark.slow
def test_vectors_of_texts_that_are_gone_are_removed(docs, tmp_path_factory, closed_checkpoint, joins, monkeypatch):
    monkeypatch.setattr(embedding_cache, "MOST_FILES", 3)
    model = closed_checkpoint
    if joins:
        config = replace(TINY, first_stage="shared", window_tokens=100)
        model = make_checkpoint(tmp_path_factory.mktemp("models") / "windows", config, gate=0.0)
    make_index([docs], model=model)
    for edit in range(12):
        for number in range(3):
            (docs / f"{number:02}.md").write_text(f"the moon of edit {edit} {number}")
        n_chunks, stored = make_index([docs]).chunks, Index.open(docs).first_stage
        assert n_chunks <= stored.count_rows() <= embedding_cache.MOST_ROWS * n_chunks
        assert stored.stats()["fragment_stats"]["num_fragments"] <= embedding_cache.MOST_FILES
    before = contents(docs)
    assert make_index([docs], refresh_context=True).embedded == 0
    assert before[0].equals(contents(docs)[0])


def test_a_table_keeps_its_vectors_through_kills_and_says_what_is_no_number(tmp_path):
    vectors = {f"{number:032x}": (np.full(4, number / 64, np.float32), bytes([number]) * 8) for number in range(40)}
    EmbeddingCache(tmp_path, 4, tmp_path).add(dict(list(vectors.items())[:30]))
    cache = EmbeddingCache(tmp_path, 4, tmp_path)
    cache.add(dict(list(vectors.items())[30:]))
    keys = [*list(vectors)[::-3], *list(vectors)[:2]]
    np.testing.assert_allclose(cache.of(keys)[0], np.stack([vectors[key][0] for key in keys]), rtol=1e-6)
    assert cache.of(keys)[1] == [vectors[key][1] for key in keys]
    assert cache.missing(["none", keys[0]]) == ["none"] and cache.holds(keys[0])
    with np.errstate(invalid="ignore"):
        cache.add({"bad": (np.array([1, np.inf, 0, 0], np.float32), b"")})
        with pytest.raises(IndexDamagedError, match="vectors that are not numbers"):
            cache.of([keys[0], "bad"])
    (next((tmp_path / "tables" / "first_stage.lance" / "data").iterdir())).unlink()
    shutil.rmtree(tmp_path / "tables" / "first_stage.lance" / "_versions")
    assert not EmbeddingCache(tmp_path, 4, tmp_path).holds(keys[0]), "a run was killed while it dropped the table"
