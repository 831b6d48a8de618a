import json

import pytest

from benchmarks.speed.scale import scale
from benchmarks.speed.synthetic import SOURCE_INDEX, Material, draw, grow, source_index
from cdesearch.errors import InputError


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    rows = [{"_id": str(n), "title": "", "text": f"note {n} of the cat and the moon"} for n in range(20)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    queries = [{"_id": str(n), "text": f"cat {n}"} for n in range(14)]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    return folder


@pytest.mark.slow
def test_every_stage_of_two_sizes_is_measured(corpus, tmp_path):
    scale(corpus, "400,800", "int8", None, None, 10, None, tmp_path / "out")
    (file,) = (tmp_path / "out").glob("scale-int8-*.json")
    small, large = json.loads(file.read_text())["sizes"].values()
    assert small.keys() == large.keys()
    assert large["one part in 2 searched: recall@10"] > 0.9  # without an index, all signs are compared
    assert large["texts and vectors, GB"] > small["texts and vectors, GB"] > 0
    for name in ("writing chunks, s", "indexing words, s", "hybrid p50, ms", "update of 1,000 files, s"):
        assert large[name] > 0
    assert large["update by watch of 1,000 files, s"] > 0


@pytest.mark.slow
def test_sentences_and_queries_may_come_from_pair_files(corpus, tmp_path):
    pairs = tmp_path / "pairs"
    pairs.mkdir()
    rows = [
        {"query": f"who owns the horse {n}", "document": f"The horse of farm {n} is brown. It runs"} for n in range(9)
    ]
    (pairs / "farms.jsonl").write_text("\n".join(map(json.dumps, rows)))
    scale(corpus, "400", "int8", pairs, None, 10, None, tmp_path / "out")
    (file,) = (tmp_path / "out").glob("scale-int8-*.json")
    assert json.loads(file.read_text())["sentences"] == "pairs"


@pytest.mark.parametrize(
    ("vectors", "chunks_per_file", "named"), [("int4", 10, "int4"), ("int8", 7, "7"), ("int8", 0, "0")]
)
def test_an_impossible_index_is_refused(corpus, tmp_path, vectors, chunks_per_file, named):
    with pytest.raises(InputError, match=named):
        scale(corpus, "10", vectors, None, None, chunks_per_file, None, tmp_path)


def test_pair_files_without_sentences_are_refused_before_anything_is_measured(corpus, tmp_path):
    (tmp_path / "empty.jsonl").write_text('{"query": "cat", "document": "short"}')
    with pytest.raises(InputError, match="has no pairs with sentences"):
        scale(corpus, "10", "int8", tmp_path / "empty.jsonl", None, 10, None, tmp_path / "out")


def test_an_index_of_few_chunks_cannot_be_resembled(corpus, tmp_path):
    source_index(corpus, tmp_path / "few")
    with pytest.raises(InputError, match="has 20 chunks"):
        scale(corpus, "10", "int8", None, tmp_path / "few" / SOURCE_INDEX, 10, None, tmp_path / "out")


@pytest.mark.slow
def test_vectors_may_resemble_those_of_an_index(corpus, tmp_path):
    source = source_index(corpus, tmp_path / "source")
    grow(source, tmp_path / "many", draw(Material(source), 1_000))
    scale(corpus, "400", "float16", None, tmp_path / "many", 10, None, tmp_path / "out")
    (file,) = (tmp_path / "out").glob("scale-float16-*.json")
    found = json.loads(file.read_text())
    assert found["like"] == 1_000
    assert found["sizes"]["400"]["as it is: recall@10"] > 0.9
