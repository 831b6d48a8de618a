import json

import pytest

from benchmarks.speed.serving import CLIENTS, Load, serving_measurements


@pytest.mark.slow
def test_a_server_is_measured_under_load(tmp_path):
    rows = [{"_id": str(n), "text": f"the cat and {n} dogs, by the river of stone. " * 3} for n in range(30)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = serving_measurements(tmp_path, tmp_path / "work", 200, Load(rate=20, seconds=2))
    values = {measurement.name: measurement.value for measurement in found}
    detail = found[0].detail
    assert (detail["chunks"], detail["clients"], detail["answers"]) == (200, CLIENTS, 40)
    assert values["errors"] == 0
    assert 0 < values["served at 20/s p50"] <= values["served at 20/s p95"] <= values["served at 20/s p99"]
    assert values["search inside the server p50"] > 0
    assert values["the same search in process p50"] > 0
    assert 0.5 < values["memory after the warm-up"] < 2
