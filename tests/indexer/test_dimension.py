"""Indexes whose vectors are reduced to the first principal components of their corpus."""

import json

import numpy as np
import pytest
from built import write_documents
from staged import Told, publish_often

import cdesearch
from cdesearch.cli.status import read_status
from cdesearch.context.document import add_document_context
from cdesearch.context.vectors import to_unit
from cdesearch.encode.encoder import Encoder
from cdesearch.errors import IndexDamagedError, InputError
from cdesearch.evaluation.ranking import PlainVectors, asking
from cdesearch.progress import Silent
from cdesearch.search.drift import measure_drift
from cdesearch.search.searcher import Searcher
from cdesearch.store.checksums import write_checksums
from cdesearch.store.index import Index
from cdesearch.store.vector_format import KINDS
from indexer.build import build
from indexer.health.doctor import diagnose
from indexer.health.repair import repair
from indexer.settings import Options

MODEL = 16  # dimensions of the tiny model
QUERIES = ["the moon", "About bread 5", "river stone house"]


def stored(folder):
    """The decoded vectors of an index, by chunk id."""
    index = Index.open(folder)
    rows = index.chunks.to_arrow()
    return dict(zip(rows["id"].to_pylist(), index.vectors_in(rows), strict=True))


def assert_stored_as_encoded(folder, encoder, dimension):
    """Compare every vector with what the model encodes in the context of the index."""
    index = Index.open(folder)
    assert (index.manifest.dimension, index.manifest.is_reduced) == (dimension, dimension < MODEL)
    assert index.context.whitening.projection.shape == (MODEL, dimension)
    rows = index.chunks.to_arrow()
    vectors, documents = index.vectors_in(rows), rows["document_id"].to_pylist()
    for document in set(documents):
        at = [row for row, name in enumerate(documents) if name == document]
        own = encoder.encode([rows["text"][row].as_py() for row in at], "document", index.context)
        assert own.shape[1] == dimension
        expected = index.vectors.rounded(add_document_context(own, encoder.config.document_weight))
        np.testing.assert_allclose(vectors[at], expected, atol=3e-3)


def test_the_vectors_of_chunks_and_queries_have_the_chosen_dimension(docs, run, tiny_encoder):
    run(dimension=6)
    assert_stored_as_encoded(docs, tiny_encoder, 6)
    index = Index.open(docs)
    assert read_status(index)["dimension"] == 6
    assert read_status(index)["vector_bytes"] == index.manifest.n_chunks * 12
    sampled = to_unit(np.stack([stored(docs)[chunk] for chunk in index.context.sampled.chunk_ids]))
    np.testing.assert_array_equal(index.context.sample_vectors, sampled)


@pytest.mark.slow
def test_the_components_keep_more_of_the_cosines_than_as_many_dimensions_of_the_model(docs, run, tiny_encoder):
    run(vectors="float32")
    whole = to_unit(np.stack([vector for _, vector in sorted(stored(docs).items())]))
    run(vectors="float32", dimension=4, rebuild=True)
    reduced = to_unit(np.stack([vector for _, vector in sorted(stored(docs).items())]))

    def lost(vectors):
        return float(np.abs(vectors @ vectors.T - whole @ whole.T).mean())

    assert lost(reduced) < 0.5 * lost(to_unit(whole[:, :4]))


@pytest.mark.slow
def test_all_dimensions_of_the_model_are_no_reduction(docs, run):
    run()
    before = stored(docs)
    run(dimension=MODEL, rebuild=True)
    assert not Index.open(docs).manifest.is_reduced
    assert "is_reduced" not in json.loads((Index.open(docs).generation / "manifest.json").read_text())
    assert all(np.array_equal(vector, before[chunk]) for chunk, vector in stored(docs).items())


@pytest.mark.slow
def test_two_builds_have_equal_vectors_and_contexts(docs, run):
    run(dimension=5)
    first, context = stored(docs), (Index.open(docs).generation / "context.safetensors").read_bytes()
    run(dimension=5, rebuild=True)
    assert (Index.open(docs).generation / "context.safetensors").read_bytes() == context
    assert all(np.array_equal(vector, first[chunk]) for chunk, vector in stored(docs).items())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_vectors_can_be_reduced_and_searched(docs, run, kind, tiny_encoder):
    run(vectors=kind, dimension=5)
    index = Index.open(docs)
    assert (index.vectors.kind, index.vectors.dimension) == (kind, 5)
    with Searcher(index, tiny_encoder) as searcher:
        for mode in ("hybrid", "dense", "rerank"):
            hits = searcher.search(QUERIES[0], 5, mode)
            assert hits and all(np.isfinite(hit.dense_score) for hit in hits)
        best = searcher.search(QUERIES[1])[0]
        assert searcher.explain(best.chunk.id, QUERIES[1]).dense.cosine == pytest.approx(best.dense_score)
    assert measure_drift(index).standard_errors == pytest.approx(index.manifest.drift)
    assert diagnose(docs / ".cdesearch").is_sound


@pytest.mark.slow
def test_updates_and_a_new_context_keep_the_dimension(docs, run, tiny_encoder):
    run(dimension=6)
    (docs / "new.md").write_text("the new river")
    assert run().embedded == 1
    assert_stored_as_encoded(docs, tiny_encoder, 6)
    (docs / "new.md").write_text("the new bread")
    run(refresh_context=True, dimension=6)
    assert_stored_as_encoded(docs, tiny_encoder, 6)
    build([], Options(index=docs, rebuild=True), Silent())
    assert_stored_as_encoded(docs, tiny_encoder, 6)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "named"), [(6, 5), (6, MODEL), (None, 6)])
def test_another_dimension_needs_a_rebuild(docs, run, before, named):
    run(dimension=before)
    has = before or MODEL
    for refresh in (False, True):
        with pytest.raises(InputError, match=rf"stores vectors of {has} dimensions, not of {named}.*--rebuild"):
            run(dimension=named, refresh_context=refresh)
    assert Index.open(docs).manifest.dimension == has
    run(dimension=named, rebuild=True)
    assert Index.open(docs).manifest.dimension == named


@pytest.mark.parametrize(
    ("dimension", "message"),
    [
        (0, r"0 cannot be the dimension of vectors\. Choose a whole number from 1"),
        (-3, "-3 cannot be"),
        (2.5, r"2\.5 cannot be"),
        ("6", "6 cannot be"),
        (True, "True cannot be"),
        (10**9, "1000000000 cannot be"),
        (MODEL + 1, r"The vectors of this model have 16 dimensions, not 17\. Choose a --dimension up to 16\."),
    ],
)
def test_a_dimension_that_vectors_cannot_have_is_refused_in_one_line(docs, run, dimension, message):
    with pytest.raises(InputError, match=message) as raised:
        run(dimension=dimension)
    assert "\n" not in str(raised.value)
    assert not (docs / ".cdesearch" / "CURRENT").exists()


@pytest.mark.slow
@pytest.mark.parametrize("n_texts", [1, 2, 3])
@pytest.mark.parametrize("dimension", [1, 6, MODEL - 1])
def test_a_corpus_with_fewer_chunks_than_dimensions_works(tmp_path, tiny_checkpoint, tiny_encoder, n_texts, dimension):
    for number, text in enumerate(["the cat", "moon and water", "a stone house"][:n_texts]):
        (tmp_path / f"{number}.md").write_text(text)
    build([tmp_path], Options(model=tiny_checkpoint, dimension=dimension), Silent())
    assert_stored_as_encoded(tmp_path, tiny_encoder, dimension)
    with Searcher(Index.open(tmp_path), tiny_encoder) as searcher:
        for mode in ("hybrid", "dense"):
            assert len(searcher.search("water of the moon", 5, mode)) == n_texts
    assert diagnose(tmp_path / ".cdesearch").is_sound
    (tmp_path / "new.md").write_text("the engine of bread")
    build([tmp_path], Options(model=tiny_checkpoint), Silent())
    assert_stored_as_encoded(tmp_path, tiny_encoder, dimension)


@pytest.mark.slow
def test_a_stopped_build_continues_with_the_same_dimension_and_begins_again_with_another(docs, run, monkeypatch):
    real = Encoder.fit

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Encoder, "fit", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(dimension=6)
    monkeypatch.setattr(Encoder, "fit", real)
    report = run(dimension=6)
    assert report.embedded == 0
    (docs / ".cdesearch" / "CURRENT").unlink()
    monkeypatch.setattr(Encoder, "fit", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(dimension=6, rebuild=True)
    monkeypatch.setattr(Encoder, "fit", real)
    assert run(dimension=5, rebuild=True).embedded > 0
    assert Index.open(docs).manifest.dimension == 5


@pytest.mark.slow
def test_stages_have_the_dimension_of_the_complete_index(docs, tiny_checkpoint, tiny_encoder, monkeypatch):
    publish_often(monkeypatch)
    seen = []

    def look(_):
        index = Index.open(docs)
        assert (index.manifest.dimension, index.manifest.is_reduced) == (6, True)
        if not index.manifest.n_vectors:
            return
        known = {chunk for chunk, vector in stored(docs).items() if vector.any()}
        assert len(known) == index.manifest.n_vectors
        with Searcher(index, tiny_encoder) as searcher:
            assert {hit.chunk.id for hit in searcher.search("the cat is in the house", 50, "dense")} == known
        assert diagnose(docs / ".cdesearch").is_sound
        seen.append(len(known))

    build([docs], Options(model=tiny_checkpoint, dimension=6), Told(look))
    assert seen
    assert_stored_as_encoded(docs, tiny_encoder, 6)


@pytest.mark.slow
def test_a_damaged_index_is_repaired_with_its_dimension(docs, run, tiny_encoder):
    run(dimension=6)
    (Index.open(docs).generation / "context.safetensors").unlink()
    repair(docs / ".cdesearch", False, Silent(), lambda _: None)
    assert_stored_as_encoded(docs, tiny_encoder, 6)


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "is_reduced"), [(6, False), (MODEL, True), (MODEL + 1, True)])
def test_a_manifest_with_another_dimension_than_the_model_is_damage(docs, run, dimension, is_reduced, tiny_encoder):
    run(dimension=6)
    file = Index.open(docs).generation / "manifest.json"
    values = json.loads(file.read_text()) | {"dimension": dimension, "is_reduced": is_reduced}
    file.unlink()
    file.write_text(json.dumps(values))
    write_checksums(file.parent, None)
    index = Index(docs / ".cdesearch")
    with pytest.raises(IndexDamagedError, match=f"has {dimension} dimensions, and its model 16"):
        index.check_encoder(tiny_encoder)


def test_plain_vectors_cannot_be_computed_from_reduced_ones(docs, run):
    run(dimension=6)
    with asking(Index.open(docs)) as asked:
        assert not PlainVectors(asked).is_different


def test_build_takes_the_dimension(tmp_path, tiny_checkpoint):
    write_documents(tmp_path / "docs")
    with cdesearch.build(tmp_path / "docs", model=tiny_checkpoint, dimension=6) as opened:
        assert opened.index.manifest.dimension == 6 and opened.search("cat", mode="dense")
        (tmp_path / "docs" / "b.md").write_text("the dog")
        assert opened.update().changed and opened.index.manifest.dimension == 6
    with pytest.raises(InputError, match="not of 7"):
        cdesearch.build(tmp_path / "docs", model=tiny_checkpoint, dimension=7)
