import json

import pytest
from beir_folder import write_set

from benchmarks.speed.command import speed


@pytest.mark.slow
def test_a_query_through_a_server_takes_less_time_than_one_without(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.speed.command.ROUNDS", 3)
    speed(write_set(tmp_path / "corpus"), out=tmp_path)
    (file,) = tmp_path.glob("speed-cold-*.json")
    found = {one["name"]: one["value"] for one in json.loads(file.read_text())["figures"]}
    assert found["cold query through a server"] < found["the same without a server"]
