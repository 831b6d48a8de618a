import json

import pytest

from benchmarks.speed.cold import cold_measurements


@pytest.mark.slow
def test_a_query_through_a_server_takes_less_time_than_one_without(tmp_path):
    rows = [{"_id": str(n), "text": f"the cat and {n} dogs, by the river of stone. " * 3} for n in range(30)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = cold_measurements(tmp_path, tmp_path / "work", 200, rounds=3)
    served, words, direct = (measurement.value for measurement in found)
    assert 0 < served < direct and 0 < words < direct
    assert found[0].detail == {"chunks": 200, "rounds": 3, "ratio": served / direct}
