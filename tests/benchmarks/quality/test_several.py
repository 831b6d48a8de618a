import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.quality.several import several

WORDS = {"animals": ("cat", "dog", "horse", "cow", "hen"), "metals": ("iron", "gold", "tin", "lead", "zinc")}


@pytest.mark.slow
def test_one_index_and_several_are_measured(tmp_path):
    for name, words in WORDS.items():
        texts = [f"The {word} is thing {number} on the list of {name}." for number, word in enumerate(words * 4)]
        pairs = {"query": [" ".join(text.split()[1:5]) for text in texts], "document": texts, "group": ["a"] * 20}
        pq.write_table(pa.table(pairs), tmp_path / f"{name}.parquet")
    several([tmp_path / f"{name}.parquet" for name in WORDS], 20, 100, 4, tmp_path / "work", tmp_path / "out")
    (file,) = (tmp_path / "out").glob("several-animals-*.json")
    figures = {one["name"]: one for one in json.loads(file.read_text())["figures"]}
    assert len(figures) == 3 * 2 * 3
    together = figures["hybrid, 2 corpora: candidates ranked together"]
    assert together["value"] > 80 and 0 <= together["detail"]["wrong corpus of the first hit, %"] < 30
    assert figures["dense, 3 shards: one index"]["detail"]["wrong corpus, %"] == 0
