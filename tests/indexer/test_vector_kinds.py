"""Indexes that store vectors in each kind: builds, updates, stages, search indexes and repairs."""

import shutil

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from built import write_documents
from staged import Told, publish_often

from cdesearch.cli.status import read_status
from cdesearch.context.document import add_document_context
from cdesearch.context.vectors import to_unit
from cdesearch.errors import IndexDamagedError, InputError
from cdesearch.progress import Silent
from cdesearch.search import nearest
from cdesearch.search.documents import DocumentReader
from cdesearch.search.drift import measure_drift
from cdesearch.search.searcher import Searcher
from cdesearch.store.checksums import write_checksums
from cdesearch.store.index import Index
from cdesearch.store.manifest import Manifest
from cdesearch.store.vector_format import KINDS
from indexer.build import build
from indexer.generations import tables
from indexer.health.doctor import diagnose
from indexer.health.repair import repair
from indexer.settings import Options

WORDS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone"]
QUERIES = ["the moon", "About bread 5", "river stone house"]


def long_text(words):
    return "# Long\n\n" + "\n\n".join(f"## Part {number}\n\n" + f"the {word} {number} " * 6 for number, word in words)


def stored(folder):
    """The decoded vectors of an index, by chunk id."""
    index = Index.open(folder)
    rows = index.chunks.to_arrow()
    return dict(zip(rows["id"].to_pylist(), index.vectors_in(rows), strict=True))


def assert_stored_as_encoded(folder, encoder):
    """Compare every vector with what the model encodes in the context of the index."""
    index = Index.open(folder)
    rows = index.chunks.to_arrow()
    vectors = index.vectors_in(rows)
    for document in set(rows["document_id"].to_pylist()):
        at = [row for row, name in enumerate(rows["document_id"].to_pylist()) if name == document]
        own = encoder.encode([rows["text"][row].as_py() for row in at], "document", index.context)
        expected = index.vectors.rounded(add_document_context(own, encoder.config.document_weight))
        if index.vectors.kind == "binary":  # a component near zero may change its sign in another batch
            assert np.mean((vectors[at] > 0) == (expected > 0)) > 0.98
        else:
            tolerance = {"float32": 1e-4, "float16": 3e-3, "int8": 0.011}[index.vectors.kind]
            np.testing.assert_allclose(vectors[at], expected, atol=tolerance)


def write_many(docs):
    lines = [f'{{"_id": "{number}", "text": "the {WORDS[number % 8]} {number * 7919}"}}' for number in range(400)]
    (docs / "many.jsonl").write_text("\n".join(lines))


def share_of_best(searcher, query, decoded, encoder):
    """The share of the ten hits of a query that are as near as the ten nearest of the `decoded` vectors."""
    vector = encoder.encode([query], "query", searcher.index.context)[0]
    scores = sorted((float(to_unit(one[None])[0] @ vector) for one in decoded.values()), reverse=True)
    return np.mean([hit.dense_score >= scores[9] - 1e-5 for hit in searcher.search(query, 10, "dense")])


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.mark.slow
def test_an_index_has_the_kind_that_was_chosen_and_keeps_it(docs, run, kind, tiny_encoder):
    run(vectors=kind)
    assert Index.open(docs).manifest.vectors == kind
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


@pytest.mark.slow
def test_another_kind_needs_a_rebuild(docs, run, kind):
    other = KINDS[(KINDS.index(kind) + 1) % len(KINDS)]
    run(vectors=kind)
    with pytest.raises(InputError, match=rf"stores vectors as {kind}, not as {other}.*--rebuild"):
        run(vectors=other)
    assert Index.open(docs).manifest.vectors == kind
    run(vectors=other, rebuild=True)
    assert Index.open(docs).manifest.vectors == other
    build([], Options(index=docs, rebuild=True), Silent())
    assert Index.open(docs).manifest.vectors == other


def test_a_kind_that_does_not_exist_is_refused_in_one_line(run):
    with pytest.raises(InputError, match=r"Vectors cannot be stored as int4\. Choose one of float32"):
        run(vectors="int4")


@pytest.mark.slow
def test_updates_store_what_a_fresh_build_stores(docs, run, kind, tiny_encoder):
    words = list(enumerate(WORDS))
    (docs / "long.md").write_text(long_text(words))
    run(vectors=kind)
    fresh = stored(docs)
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
    again = stored(docs)
    assert again.keys() == fresh.keys()
    for chunk, vector in again.items():
        assert to_unit(vector[None])[0] @ to_unit(fresh[chunk][None])[0] > (0.99 if kind == "binary" else 0.9999)


@pytest.mark.slow
def test_many_edits_of_a_document_add_up_to_no_error(docs, run, tiny_encoder):
    words = list(enumerate(WORDS))
    for edit in range(8):
        (docs / "long.md").write_text(long_text([*words[:4], (4, WORDS[edit]), *words[5:]]))
        assert run(vectors="float16").embedded <= 1 or edit == 0
    assert_stored_as_encoded(docs, tiny_encoder)


@pytest.mark.slow
def test_every_way_to_read_vectors_answers(docs, run, kind, tiny_encoder):
    run(vectors=kind)
    index = Index.open(docs)
    with Searcher(index, tiny_encoder) as searcher:
        for query in QUERIES:
            for mode in ("hybrid", "dense", "rerank"):
                hits = searcher.search(query, 5, mode)
                assert hits and all(hit.dense_score is not None and np.isfinite(hit.score) for hit in hits)
            explained = searcher.explain(searcher.search(query)[0].chunk.id, query)
            assert explained.dense.cosine == pytest.approx(searcher.search(query)[0].dense_score)
            assert (explained.dense.own_cosine is None) == (kind == "binary")
        assert {hit.chunk.path for hit in searcher.search("house", 50, "dense", path="0[12].md")} == {"01.md", "02.md"}
    assert measure_drift(index).standard_errors == pytest.approx(index.manifest.drift)
    decoded = stored(docs)
    sampled = to_unit(np.stack([decoded[chunk] for chunk in index.context.sampled.chunk_ids]))
    np.testing.assert_array_equal(index.context.sample_vectors, sampled)


def test_dense_scores_are_cosines_of_the_stored_vectors(docs, run, kind, tiny_encoder):
    run(vectors=kind)
    index, decoded = Index.open(docs), stored(docs)
    vector = tiny_encoder.encode(["the moon"], "query", index.context)[0]
    expected = {chunk: float(to_unit(one[None])[0] @ vector) for chunk, one in decoded.items()}
    with Searcher(index, tiny_encoder) as searcher:
        hits = searcher.search("the moon", 100, "dense")
    assert len(hits) == len(expected)
    for hit in hits:
        assert hit.dense_score == pytest.approx(expected[hit.chunk.id], abs=1e-6)


@pytest.mark.slow
def test_stages_answer_with_the_vectors_that_they_have(docs, kind, tiny_checkpoint, tiny_encoder, monkeypatch):
    publish_often(monkeypatch)
    seen = []

    def look(_):
        index = Index.open(docs)
        if not index.manifest.n_vectors:
            return
        known = {chunk for chunk, vector in stored(docs).items() if vector.any()}
        assert index.manifest.vectors == kind and len(known) == index.manifest.n_vectors
        assert len(index.context.sample_vectors) <= len(known)
        with Searcher(index, tiny_encoder) as searcher:
            assert {hit.chunk.id for hit in searcher.search("the cat is in the house", 50, "dense")} == known
            hits = searcher.search("the cat is in the house", 50)
            assert [hit.chunk.id in known for hit in hits] == [hit.dense_score is not None for hit in hits]
        assert diagnose(docs / ".cdesearch").is_sound
        seen.append(len(known))

    build([docs], Options(model=tiny_checkpoint, vectors=kind), Told(look))
    assert seen
    assert_stored_as_encoded(docs, tiny_encoder)


@pytest.mark.slow
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
    decoded = stored(docs)
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
    decoded, in_file = stored(docs), {chunk.id for chunk in DocumentReader(index).file("new.md")}
    shares = []
    with Searcher(index, tiny_encoder) as searcher:
        for query in QUERIES:
            shares.append(share_of_best(searcher, query, decoded, tiny_encoder))
            with monkeypatch.context() as narrow:
                narrow.setattr(nearest, "parts_to_search", lambda *_, **__: 1)
                filtered = searcher.search(query, 10, "dense", path="new.md")
            assert {hit.chunk.id for hit in filtered} == in_file
    assert np.mean(shares) >= 0.25


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vectors", "scale", "codes", "bits"])
def test_columns_that_do_not_fit_the_manifest_are_damage_that_can_be_repaired(docs, run, name, tiny_encoder):
    run(vectors="int8")
    generation = Index.open(docs).generation
    if name == "vectors":
        file = generation / "manifest.json"
        forged = file.read_text().replace('"vectors": "int8"', '"vectors": "float16"')
        file.unlink()
        file.write_text(forged)
    else:
        database = lancedb.connect(generation / "tables")
        rows = database.open_table("chunks").to_arrow()
        kept = rows.drop_columns(name)
        if name != "scale":
            numbers = rows[name].combine_chunks().flatten().to_numpy().astype(np.int16)
            width = rows.schema.field(name).type.list_size
            kept = kept.append_column(name, pa.FixedSizeListArray.from_arrays(pa.array(numbers), width))
        database.create_table("chunks", kept, mode="overwrite")
    write_checksums(generation, None)
    for mode in ("hybrid", "dense", "text"):
        with Searcher(Index.open(docs), tiny_encoder) as searcher:
            with pytest.raises(IndexDamagedError, match="columns") as raised:
                searcher.search("the moon", mode=mode)
            assert "\n" not in str(raised.value)
    assert not diagnose(docs / ".cdesearch").is_sound
    repair(docs / ".cdesearch", False, Silent(), lambda _: None)
    assert diagnose(docs / ".cdesearch").is_sound


def test_a_kind_that_no_version_writes_is_a_damaged_manifest(docs, run):
    run()
    file = Index.open(docs).generation / "manifest.json"
    forged = file.read_text().replace('"vectors": "float16"', '"vectors": "int4"')
    file.unlink()
    file.write_text(forged)
    with pytest.raises(IndexDamagedError, match=r"manifest\.json cannot be read .*int4"):
        Manifest.load(file)


@pytest.mark.slow
def test_a_damaged_search_index_is_repaired_without_the_model(docs, run, kind):
    run(vectors=kind)
    before = stored(docs)
    folder = docs / ".cdesearch"
    for file in (Index.open(docs).generation / "tables" / "chunks.lance" / "_indices").rglob("*.lance"):
        file.unlink()
    assert not diagnose(folder).is_sound
    repair(folder, False, Silent(), lambda _: None)
    assert diagnose(folder).is_sound and Index.open(docs).manifest.vectors == kind
    after = stored(docs)
    assert after.keys() == before.keys()
    assert all(np.array_equal(after[chunk], vector) for chunk, vector in before.items())
