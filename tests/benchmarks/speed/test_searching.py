import json

import pytest
from random_biencoder import biencoder_folder

from benchmarks.speed.joint import joint_speed
from benchmarks.speed.searching import context_measurements


@pytest.mark.slow
def test_the_cost_of_a_context_is_measured_without_it_gated_and_joint(tmp_path):
    rows = [{"_id": str(n), "text": f"the cat and {n} dogs"} for n in range(20)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = context_measurements(tmp_path, biencoder_folder(tmp_path / "bert"), tmp_path / "work", rounds=1)
    assert [measurement.unit for measurement in found] == ["times"] * 3
    assert all(measurement.value > 0 for measurement in found)


def test_joint_attention_is_measured_in_every_kind_of_joint_model(capsys):
    joint_speed(context_size=4, tokens=8, layers=1, rounds=1)
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == ["v1", "v2", "cdesearch"]
