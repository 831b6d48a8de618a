import json

import numpy as np
from beir_folder import WORDS

from benchmarks.figures.command import analyse


def test_clustered_batches_are_harder(tmp_path, closed_checkpoint):
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS[topic : topic + 2], size=6)) for topic in random.integers(0, 7, 600)]
    rows = [{"query": f"{text} {n}", "document": f"{text} the {n}"} for n, text in enumerate(texts)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    analyse(
        "difficulty", [tmp_path / "pairs.jsonl"], closed_checkpoint, None, None, tmp_path / "work", tmp_path / "out"
    )
    (file,) = (tmp_path / "out").glob("*.json")
    points = json.loads(file.read_text())["figure"]["series"]["pairs"]
    assert points[1][1] > points[-1][1], "clusters of a batch's size against batches at random"
