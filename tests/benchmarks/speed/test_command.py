import json

import pytest

from benchmarks.speed.command import speed
from benchmarks.speed.serving import CLIENTS


@pytest.fixture
def figures(tmp_path, corpus):
    """Runs one suite of `speed` at the smallest size, and returns its figures by name."""

    def measured(only, **options):
        speed(corpus, chunks=300, only=only, out=tmp_path, **options)
        (file,) = tmp_path.glob(f"speed-{only}-*.json")
        return {one["name"]: one for one in json.loads(file.read_text())["figures"]}

    return measured


@pytest.mark.slow
def test_a_query_through_a_server_takes_less_time_than_one_without(figures, monkeypatch):
    monkeypatch.setattr("benchmarks.speed.command.ROUNDS", 3)
    found = figures("cold")
    assert found["cold query through a server"]["value"] < found["the same without a server"]["value"]


@pytest.mark.slow
def test_a_server_is_measured_under_load(figures):
    found = figures("serving", rate=20, seconds=2)
    values = {name: one["value"] for name, one in found.items()}
    detail = found["search inside the server p50"]["detail"]
    assert (detail["chunks"], detail["clients"], detail["answers"]) == (300, CLIENTS, 40)
    assert values["errors"] == 0
    assert 0 < values["served at 20/s p50"] <= values["served at 20/s p95"] <= values["served at 20/s p99"]
    assert 0.5 < values["memory after the warm-up"] < 2
