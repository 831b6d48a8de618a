import json

import pytest

from benchmarks.speed.material import Material
from benchmarks.speed.scale import scale
from benchmarks.speed.synthetic import grow, source_index
from cdesearch.errors import InputError


@pytest.mark.slow
def test_every_stage_of_two_sizes_is_measured_with_the_sentences_of_pair_files(corpus, tmp_path):
    pairs = tmp_path / "pairs"
    pairs.mkdir()
    rows = [{"query": f"who owns horse {n}", "document": f"The horse of farm {n} is brown. It runs"} for n in range(9)]
    (pairs / "farms.jsonl").write_text("\n".join(map(json.dumps, rows)))
    scale(corpus, "400,800", "int8", pairs, None, None, tmp_path / "out")
    (file,) = (tmp_path / "out").glob("scale-int8-*.json")
    record = json.loads(file.read_text())
    small, large = record["sizes"].values()
    assert record["sentences"] == "pairs" and small.keys() == large.keys()
    assert large["recall@10"] > 0.9  # without an index, all signs are compared
    assert large["texts and vectors, GB"] > small["texts and vectors, GB"] > 0
    for name in ("writing chunks, s", "indexing words, s", "hybrid p50, ms", "update of 1,000 files, s"):
        assert large[name] > 0
    assert large["update of neighbours of 1,000 files, s"] > 0


@pytest.mark.slow
def test_vectors_may_resemble_those_of_an_index(corpus, tmp_path):
    source = source_index(corpus, tmp_path / "source")
    grow(source, tmp_path / "many", Material(source).draw(1_000))
    scale(corpus, "400", "float16", None, tmp_path / "many", None, tmp_path / "out")
    (file,) = (tmp_path / "out").glob("scale-float16-*.json")
    found = json.loads(file.read_text())
    assert found["like"] == 1_000 and found["sizes"]["400"]["recall@10"] > 0.9


def test_what_cannot_be_measured_is_refused_before_anything_is_measured(corpus, tmp_path):
    (tmp_path / "empty.jsonl").write_text('{"query": "cat", "document": "short"}')
    few = source_index(corpus, tmp_path / "few")
    for pairs, like, named in ((tmp_path / "empty.jsonl", None, "has no pairs with s"), (None, few, "has 20 chunks")):
        with pytest.raises(InputError, match=named):
            scale(corpus, "10", "int8", pairs, like, None, tmp_path / "out")
    assert not (tmp_path / "out").exists()
