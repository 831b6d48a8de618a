"""Indexes that store vectors in each kind."""

import shutil

import numpy as np
import pytest
from built import long_text, make_index, stored_vectors, write_documents
from staged import Told, publish_often

from cdesearch.cli.status import read_status
from cdesearch.context.document import add_document_context
from cdesearch.context.vectors import to_unit
from cdesearch.errors import InputError
from cdesearch.search import nearest
from cdesearch.search.documents import DocumentReader
from cdesearch.search.drift import measure_drift
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.store.vector_format import KINDS
from indexer.generations import tables
from indexer.health.doctor import diagnose

WORDS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone"]
QUERIES = ["the moon", "About bread 5", "river stone house"]
TOLERANCE = {"float32": 0.01, "float16": 0.01, "int8": 0.015}  # first-stage vectors are stored in eight bits
every_kind = pytest.mark.parametrize("kind", KINDS)


def assert_stored_as_encoded(folder, encoder):
    """Compare every vector with what the model encodes in the context of the index."""
    index = Index.open(folder)
    rows = index.chunks.to_arrow()
    vectors, documents = index.vectors_in(rows), rows["document_id"].to_pylist()
    for document in set(documents):
        at = [row for row, name in enumerate(documents) if name == document]
        own = encoder.encode([rows["text"][row].as_py() for row in at], "document", index.context)
        expected = index.vectors.rounded(add_document_context(own, encoder.config.document_weight))
        if index.vectors.kind == "binary":  # a component near zero may change its sign in another batch
            assert np.mean((vectors[at] > 0) == (expected > 0)) > 0.95
        else:
            np.testing.assert_allclose(vectors[at], expected, atol=TOLERANCE[index.vectors.kind])


def write_many(docs):
    lines = [f'{{"_id": "{number}", "text": "the {WORDS[number % 8]} {number * 7919}"}}' for number in range(400)]
    (docs / "many.jsonl").write_text("\n".join(lines))


def share_of_best(searcher, query, decoded, encoder):
    """The share of the ten hits of a query that are as near as the ten nearest of the `decoded` vectors."""
    vector = encoder.encode([query], "query", searcher.index.context)[0]
    scores = sorted((float(to_unit(one[None])[0] @ vector) for one in decoded.values()), reverse=True)
    return np.mean([hit.dense_score >= scores[9] - 1e-5 for hit in searcher.search(query, 10, "dense")])


@pytest.mark.slow
@every_kind
def test_an_index_has_the_form_that_was_chosen_and_keeps_it(docs, run, kind, tiny_encoder):
    run(vectors=kind)
    assert_stored_as_encoded(docs, tiny_encoder)
    (docs / "new.md").write_text("the new river")
    run()
    (docs / "new.md").write_text("the new bread")
    run(refresh_context=True)
    index = Index.open(docs)
    assert index.manifest.vectors == kind
    assert_stored_as_encoded(docs, tiny_encoder)
    status = read_status(index)
    assert status["vectors_stored_as"] == kind
    assert status["vector_bytes"] == index.manifest.n_chunks * index.vectors.n_bytes
    make_index([], index=docs, rebuild=True)
    assert Index.open(docs).manifest.vectors == kind
    assert_stored_as_encoded(docs, tiny_encoder)


def test_a_form_that_vectors_cannot_have_is_refused_in_one_line(docs, run):
    with pytest.raises(InputError, match=r"^Vectors cannot be stored as int4\. Choose one of float32.*$"):
        run(vectors="int4")
    assert not (docs / ".cdesearch" / "CURRENT").exists()


@pytest.mark.slow
@every_kind
def test_updates_store_what_a_fresh_build_stores(docs, run, kind, tiny_encoder):
    words = list(enumerate(WORDS))
    (docs / "long.md").write_text(long_text(words))
    run(vectors=kind)
    fresh = stored_vectors(docs)
    (docs / "long.md").write_text(long_text([*words[:4], (4, "stone"), *words[5:]]))
    (docs / "03.md").unlink()
    report = run()
    n_chunks = Index.open(docs).chunks.count_rows("path = 'long.md'")
    assert n_chunks > 3
    assert report.embedded == (1 if kind in ("float32", "float16") else n_chunks)
    assert_stored_as_encoded(docs, tiny_encoder)
    write_documents(docs.parent / "again")
    shutil.copy(docs.parent / "again" / "03.md", docs / "03.md")
    (docs / "long.md").write_text(long_text(words))
    run()
    again = stored_vectors(docs)
    assert again.keys() == fresh.keys()
    for chunk, vector in again.items():
        assert to_unit(vector[None])[0] @ to_unit(fresh[chunk][None])[0] > (0.99 if kind == "binary" else 0.9999)


@pytest.mark.slow
@every_kind
def test_every_way_to_read_vectors_answers(docs, run, kind, tiny_encoder):
    run(vectors=kind)
    index = Index.open(docs)
    assert index.vectors.kind == kind
    with Searcher(index, tiny_encoder) as searcher:
        for query in QUERIES:
            for mode in ("hybrid", "dense"):
                hits = searcher.search(query, 5, mode)
                assert hits and all(hit.dense_score is not None and np.isfinite(hit.score) for hit in hits)
            explained = searcher.explain(searcher.search(query)[0].chunk.id, query)
            assert explained.dense.cosine == pytest.approx(searcher.search(query)[0].dense_score)
            assert (explained.dense.own_cosine is None) == (kind in ("int8", "binary"))
        assert {hit.chunk.path for hit in searcher.search("house", 50, "dense", path="0[12].md")} == {"01.md", "02.md"}
    assert measure_drift(index) == pytest.approx(index.manifest.drift)
    assert diagnose(docs / ".cdesearch").is_sound
    decoded = stored_vectors(docs)
    sampled = to_unit(np.stack([decoded[chunk] for chunk in index.context.sampled.chunk_ids]))
    np.testing.assert_array_equal(index.context.sample_vectors, sampled)


@every_kind
def test_dense_scores_are_cosines_of_the_stored_vectors(docs, run, kind, tiny_encoder):
    run(vectors=kind)
    index, decoded = Index.open(docs), stored_vectors(docs)
    vector = tiny_encoder.encode(["the moon"], "query", index.context)[0]
    expected = {chunk: float(to_unit(one[None])[0] @ vector) for chunk, one in decoded.items()}
    with Searcher(index, tiny_encoder) as searcher:
        hits = searcher.search("the moon", 100, "dense")
    found = {one.chunk.id: one.dense_score for hit in hits for one in (hit, *hit.copies)}
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
@every_kind
def test_stages_answer_with_the_vectors_that_they_have(docs, kind, tiny_checkpoint, tiny_encoder, monkeypatch):
    publish_often(monkeypatch)
    seen = []

    def look(_):
        index = Index.open(docs)
        assert index.manifest.vectors == kind
        if not index.manifest.n_vectors:
            return
        known = {chunk for chunk, vector in stored_vectors(docs).items() if vector.any()}
        assert len(known) == index.manifest.n_vectors
        assert len(index.context.sample_vectors) <= len(known)
        with Searcher(index, tiny_encoder) as searcher:
            hits = searcher.search("the cat is in the house", 50, "dense")
            assert {one.chunk.id for hit in hits for one in (hit, *hit.copies)} == known
            hits = searcher.search("the cat is in the house", 50)
            assert [hit.chunk.id in known for hit in hits] == [hit.dense_score is not None for hit in hits]
        assert diagnose(docs / ".cdesearch").is_sound
        seen.append(len(known))

    make_index([docs], Told(look), model=tiny_checkpoint, vectors=kind)
    assert seen
    assert_stored_as_encoded(docs, tiny_encoder)


@pytest.mark.slow
@every_kind
def test_a_large_index_searches_its_vectors_by_an_index_that_updates_keep(docs, run, kind, tiny_encoder, monkeypatch):
    for module, name, number in (
        (tables, "VECTOR_INDEX_FROM", 300),
        (tables, "BITS_INDEX_FROM", 300),
        (nearest, "SMALLEST_PART", 60),
        (nearest, "OF_CHUNKS", 400),
        (nearest, "PARTS_SEARCHED", 3),
    ):
        monkeypatch.setattr(module, name, number)
    write_many(docs)
    run(vectors=kind)
    for update in range(3):
        (docs / "new.md").write_text(f"the {WORDS[update]} is new")
        run()
    index = Index.open(docs)
    assert index.chunks.index_stats("vector_idx").num_unindexed_rows == 0
    found = diagnose(docs / ".cdesearch")
    assert found.is_sound, found.damages
    decoded = stored_vectors(docs)
    shares = []
    with Searcher(index, tiny_encoder) as searcher:
        for query in QUERIES:
            shares.append(share_of_best(searcher, query, decoded, tiny_encoder))
            filtered = searcher.search(query, 10, "dense", path="0*.md")
            assert filtered and {hit.chunk.path[0] for hit in filtered} == {"0"}
    assert np.mean(shares) >= 0.6


def test_signs_find_the_best_chunks_and_all_chunks_of_a_file(docs, run, tiny_encoder, monkeypatch):
    monkeypatch.setattr(tables, "BITS_INDEX_FROM", 300)
    monkeypatch.setattr(nearest, "SMALLEST_PART", 40)
    write_many(docs)
    (docs / "new.md").write_text(long_text(enumerate(WORDS[:4])))
    run(vectors="int8")
    index = Index.open(docs)
    assert diagnose(docs / ".cdesearch").is_sound
    decoded, in_file = stored_vectors(docs), {chunk.id for chunk in DocumentReader(index).file("new.md")}
    shares = []
    with Searcher(index, tiny_encoder) as searcher:
        for query in QUERIES:
            shares.append(share_of_best(searcher, query, decoded, tiny_encoder))
            with monkeypatch.context() as narrow:
                narrow.setattr(nearest, "parts_to_search", lambda *_, **__: 1)
                filtered = searcher.search(query, 10, "dense", path="new.md")
            assert {hit.chunk.id for hit in filtered} == in_file
    assert np.mean(shares) >= 0.25
