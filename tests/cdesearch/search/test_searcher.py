import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from built import write_files

import cdesearch
from cdesearch.context.vectors import to_unit
from cdesearch.encode.load import load_encoder
from cdesearch.errors import QueryError
from cdesearch.search.fusion import FUSION, Candidates
from cdesearch.search.ranking import interaction_lifts
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index

PAGES = {
    "pets/cats.md": "# Cats\n\nA cat purrs when it is content. Kittens sleep most of the day.",
    "pets/dogs.md": "# Dogs\n\nA dog barks at strangers and fetches sticks.",
    "kitchen/bread.md": "# Bread\n\nKnead the dough, let it rise, and bake it for forty minutes.",
    "kitchen/soup.md": "# Soup\n\nSimmer onions and carrots in water.",
    "space/moon.txt": "The moon pulls the tides of the sea.",
    "space/rocket.txt": "A rocket burns fuel to leave the ground.",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = write_files(tmp_path_factory.mktemp("corpus"), PAGES)
    cdesearch.build(root)
    return root


@pytest.fixture(scope="module")
def searcher(folder):
    return Searcher(Index.open(folder))


@pytest.fixture
def own_folder(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "own")


def paths(hits):
    return [hit.chunk.path for hit in hits]


def brute_force(searcher, query):
    table = searcher.index.chunks.search().limit(100).to_arrow()
    vector = searcher.encoder.encode([query], "query", searcher.index.context)[0]
    cosines = to_unit(searcher.index.vectors_in(table)) @ vector
    return dict(zip(table["path"].to_pylist(), cosines.tolist(), strict=True))


def test_each_mode_ranks_by_its_own_score(searcher):
    dense, text, hybrid = (searcher.search("feline animals purr", mode=mode) for mode in ("dense", "text", "hybrid"))
    assert paths(dense)[0] == paths(text)[0] == paths(hybrid)[0] == "pets/cats.md"
    assert all(hit.score == hit.dense_score and hit.text_score is None for hit in dense)
    assert all(hit.score == hit.text_score and hit.dense_score is None for hit in text)
    assert len(text) < len(dense) == len(hybrid) == len(PAGES)
    for hits in (dense, text, hybrid):
        assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
        assert sorted((hit.score for hit in hits), reverse=True) == [hit.score for hit in hits]


def test_dense_scores_are_the_exact_cosines(searcher):
    expected = brute_force(searcher, "how to cook")
    hits = searcher.search("how to cook", mode="dense")
    assert paths(hits) == sorted(expected, key=expected.get, reverse=True)
    assert {hit.chunk.path: hit.dense_score for hit in hits} == pytest.approx(expected, abs=1e-6)


def test_hybrid_fuses_the_scores_of_both_sides(searcher):
    dense = {hit.chunk.path: hit.score for hit in searcher.search("rising dough", mode="dense")}
    text = {hit.chunk.path: hit.score for hit in searcher.search("rising dough", mode="text")}
    context = searcher.index.context
    null = context.sample_vectors @ searcher.encoder.encode(["rising dough"], "query", context)[0]
    scores = np.array([text.get(path, np.nan) for path in dense])
    table = searcher.index.chunks.search().limit(100).to_arrow()
    vectors = dict(zip(table["path"].to_pylist(), searcher.index.vectors_in(table), strict=True))
    near = np.stack([vectors[path] for path in dense])
    stored = dict(zip(table["path"].to_pylist(), table["tokens"].to_pylist(), strict=True))
    candidates = Candidates(
        np.array(list(dense.values())),
        scores,
        null,
        vectors=near,
        tokens=[stored[path] for path in dense],
        query_tokens=searcher.encoder.encode_queries(["rising dough"], context)[1][0],
    )
    fused = FUSION.scores(candidates)
    fused += interaction_lifts(fused, candidates)
    hits = searcher.search("rising dough")
    assert {hit.chunk.path: hit.score for hit in hits} == pytest.approx(dict(zip(dense, fused, strict=True)), abs=1e-6)
    assert {hit.chunk.path: hit.text_score for hit in hits if hit.text_score} == pytest.approx(text)


@pytest.mark.parametrize("query", ["'; DROP TABLE chunks; --", '"open AND (', "cat:^~*", "🐈", "漢字", "cat " * 20_000])
@pytest.mark.parametrize("mode", ["hybrid", "text"])
def test_the_words_of_a_query_are_never_syntax(searcher, query, mode):
    hits = searcher.search(query, mode=mode)
    assert len(hits) == len(PAGES) if mode == "hybrid" else len(hits) <= 1


@pytest.mark.parametrize("query", ["", " \t\n", "\u3000", "\x00", "\u00ad\u200b"])
def test_an_empty_query_is_an_error(searcher, query):
    with pytest.raises(QueryError):
        searcher.search(query)


def test_a_long_query_is_reported_as_truncated(searcher):
    most = searcher.encoder.max_tokens
    assert [searcher.search(query).truncated_to for query in ("cat " * 1000, "cat")] == [most, None]
    assert searcher.search("cat " * 1000, mode="text").truncated_to is None


def test_an_approximate_index_gives_exact_scores(own_folder):
    from lancedb.index import HnswSq

    searcher = Searcher(Index.open(own_folder))
    table = searcher.index.chunks
    for _ in range(6):  # enough rows for a graph
        table.add(table.to_arrow())
    table.create_index("vector", config=HnswSq(distance_type="cosine", num_partitions=1))
    expected = brute_force(searcher, "how to cook")
    for hit in searcher.search("how to cook", 50, "dense"):
        assert hit.dense_score == pytest.approx(expected[hit.chunk.path], abs=1e-6)


def test_a_searcher_opens_the_newest_generation_when_its_own_was_removed(own_folder):
    searcher = Searcher(Index.open(own_folder))
    before = searcher.index.generation
    for news in ("Volcanoes spit lava.", "Glaciers are slow rivers of ice."):  # the last but one generation is kept
        (own_folder / "news.txt").write_text(news)
        cdesearch.build(own_folder)
    assert not before.exists()
    assert paths(searcher.search("glaciers"))[0] == "news.txt"


@pytest.mark.slow
def test_a_text_query_does_not_load_the_model(folder):
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from cdesearch.store.index import Index\nfrom cdesearch.search.searcher import Searcher\n"
        f"assert Searcher(Index.open(Path({str(folder)!r}))).search('cat', mode='text')\n"
        "assert 'onnxruntime' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_several_threads_load_the_model_once_and_get_the_same_hits(folder, monkeypatch):
    loaded = []

    def load(*arguments, **options):
        loaded.append(arguments)
        return load_encoder(*arguments, **options)

    monkeypatch.setattr("cdesearch.search.searcher.load_encoder", load)
    with Searcher(Index.open(folder)) as searcher, ThreadPoolExecutor(8) as threads:
        results = list(threads.map(searcher.search, ["rising dough"] * 16))
    assert len(loaded) == 1 and all(result == results[0] for result in results)
