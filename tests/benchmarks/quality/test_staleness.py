import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.quality.staleness import _part, staleness
from cdesearch.context.vectors import to_unit

WORDS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone", "light"]


def test_a_random_part_and_a_part_about_one_subject():
    vectors = to_unit(np.random.default_rng(0).standard_normal((200, 8)).astype(np.float32))
    for seed in range(3):
        some, near = _part(vectors, 0.1, "random", seed), _part(vectors, 0.1, "topical", seed)
        assert len(set(some)) == len(set(near)) == 20
        closeness = [float(np.linalg.norm(vectors[rows].mean(0))) for rows in (near, some)]
        assert closeness[0] > 1.5 * closeness[1]
    assert _part(vectors, 0.1, "random", 0) != _part(vectors, 0.1, "random", 1)


@pytest.mark.slow
def test_indexes_that_grew_are_compared_with_a_new_one(tmp_path, closed_checkpoint):
    texts = [f"the {WORDS[number % 9]} and the {WORDS[number // 9]} {number}" for number in range(60)]
    other = [f"bread {number} and bread" for number in range(60)]
    files = [tmp_path / "numbers.parquet", tmp_path / "other.parquet"]
    for file, documents in zip(files, (texts, other), strict=True):
        pairs = {"query": [text.rpartition(" ")[2] for text in texts], "document": documents, "group": ["a"] * 60}
        pq.write_table(pa.table(pairs), file)
    places = [tmp_path / "work", closed_checkpoint, tmp_path / "out"]
    staleness(files, 60, 100, 20, "0.5", "random,topical,foreign", 2, *places)
    (file,) = (tmp_path / "out").glob("*numbers*.json")
    figures = {one["name"]: one for one in json.loads(file.read_text())["figures"]}
    assert figures["numbers: a new index, hybrid"]["value"] > 0
    for kind in ("random", "topical", "foreign"):
        for seed in range(2):
            detail = figures[f"numbers: grown from 0.5, {kind} {seed}, hybrid"]["detail"]
            assert detail["chunks"] == 60 and detail["sampled"] <= 30
