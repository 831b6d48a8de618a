import json

import pytest

from benchmarks.speed.scale import scale


@pytest.mark.slow
def test_every_stage_of_two_sizes_is_measured(corpus, tmp_path):
    scale(corpus, "400,800", "int8", None, tmp_path / "out")
    (file,) = (tmp_path / "out").glob("scale-int8-*.json")
    small, large = json.loads(file.read_text())["sizes"].values()
    assert small.keys() == large.keys()
    assert large["texts and vectors, GB"] > small["texts and vectors, GB"] > 0
    for name in ("writing chunks, s", "indexing words, s", "hybrid p50, ms", "update of 1,000 files, s"):
        assert large[name] > 0
    assert large["update of neighbours of 1,000 files, s"] > 0
