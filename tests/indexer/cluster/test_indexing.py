import numpy as np
import pytest
from chunk_rows import rows_of

from cdesearch.store.vector_format import VectorFormat
from indexer.cluster import indexing
from indexer.cluster.indexing import ClusterIndexes, finish_on_worker
from indexer.cluster.session import connected
from indexer.generations import tables as write
from indexer.generations.tables import Tables

pytestmark = pytest.mark.slow
pytest.importorskip("ray")

N_CHUNKS, DIMENSION = 2_000, 8


class WithoutCompaction(ClusterIndexes):
    """Leaves two fragments, as only a table of more than a million chunks has them."""

    def compact(self):
        pass


def fill(generation):
    generation.mkdir()
    (generation / "tables").mkdir()
    tables = Tables(generation, VectorFormat("float16", DIMENSION))
    generator = np.random.default_rng(0)
    words = [f"word{number}" for number in range(200)]
    rows = [(f"{n}.md", f"{n}.md", " ".join(generator.choice(words, n % 30 + 1))) for n in range(N_CHUNKS)]
    batch = write.pa.Table.from_batches([rows_of(rows)])
    vectors = generator.normal(size=(N_CHUNKS, DIMENSION)).astype(np.float32)
    for start in (0, 700):
        part = slice(start, 700 if start == 0 else N_CHUNKS)
        tables.add(batch.slice(start, part.stop - start), vectors[part])
    return tables, vectors


def assert_same_scores(local, spread):
    for words in ("word3", "word40 word41", "the word199"):
        one, two = (t.chunks.search(words, query_type="fts").limit(2_000).to_arrow() for t in (local, spread))
        scores = [dict(zip(rows["id"].to_pylist(), rows["_score"].to_pylist(), strict=True)) for rows in (one, two)]
        assert scores[0] and scores[0] == pytest.approx(scores[1], abs=1e-5)


def test_indexes_of_several_fragments_find_and_score_like_one(tmp_path, monkeypatch):
    monkeypatch.setattr(write, "VECTOR_INDEX_FROM", 1_000)
    monkeypatch.setattr(write, "_compact", lambda _: None)
    (local, vectors), (spread, _) = fill(tmp_path / "local"), fill(tmp_path / "spread")
    local.finish()
    with connected(None, 2):
        spread.finish(WithoutCompaction(str(tmp_path / "spread" / "tables" / "chunks.lance"), 2))
    assert {index.name: index.num_segments for index in spread.chunks.list_indices()} == {
        "text_idx": 2,
        "vector_idx": 2,
    }
    assert_same_scores(local, spread)
    for vector in vectors[:20]:
        found = spread.chunks.search(vector).distance_type("cosine").limit(1).refine_factor(4).to_arrow()
        np.testing.assert_allclose(found["vector"][0].as_py(), vector, atol=1e-2)


def test_lance_ray_finishes_a_large_table_although_the_task_that_waits_for_it_leaves_one_processor(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(indexing, "FRAGMENT_ROWS", 1_000)
    (local, _), (spread, _) = fill(tmp_path / "local"), fill(tmp_path / "spread")
    local.finish()
    with connected(None, 1):
        finish_on_worker(spread, VectorFormat("float16", DIMENSION), 1)
    assert len(spread.chunks.to_lance().get_fragments()) == 1
    assert_same_scores(local, spread)
