import json

import pytest

from benchmarks.ablations.curves import curves
from cdesearch.errors import InputError


@pytest.mark.slow
def test_the_held_out_losses_of_finished_and_unfinished_runs_are_stored_and_drawn(tmp_path, capsys):
    runs = tmp_path / "context"
    for number, name in enumerate(["gates-at-zero", "token-context", "just-begun"]):
        (runs / name).mkdir(parents=True)
        steps = range(0, 100 * (2 - number), 100)
        held_out = {"true": 0.5 + number, "random": 0.6, "null": 0.7}
        lines = [{"step": 1, "loss": 1.0}, *({"step": step, "held_out": held_out} for step in steps)]
        (runs / name / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    curves(runs, tmp_path)
    (file,) = tmp_path.glob("curves-context-*.json")
    stored = json.loads(file.read_text())["runs"]
    assert {name: [row["step"] for row in rows] for name, rows in stored.items()} == {
        "gates-at-zero": [0, 100],
        "token-context": [0],
    }
    assert stored["token-context"][0] == {"step": 0, "true": 1.5, "random": 0.6, "null": 0.7}
    drawn = file.with_suffix(".svg").read_text()
    assert "gates-at-zero" in drawn and "just-begun" not in drawn
    assert "1.5000" in capsys.readouterr().out


def test_a_folder_without_runs_is_refused(tmp_path):
    with pytest.raises(InputError, match="has a held-out loss"):
        curves(tmp_path, tmp_path)


@pytest.mark.slow
def test_copied_logs_are_drawn_too_and_a_torn_last_line_is_left_out(tmp_path):
    line = {"step": 5, "held_out": {"true": 0.5, "random": 0.6, "null": 0.7}}
    for name in ("train-arm-a.jsonl", "train-arm-b.jsonl"):
        (tmp_path / name).write_text(json.dumps(line) + '\n{"step": 10, "held')
    out = tmp_path / "new" / "results"
    curves(tmp_path, out)
    (file,) = out.glob("curves-*.json")
    stored = json.loads(file.read_text())["runs"]
    assert stored == {name: [{"step": 5, "true": 0.5, "random": 0.6, "null": 0.7}] for name in ("arm-a", "arm-b")}
    drawn = file.with_suffix(".svg").read_text()
    assert all(word in drawn for word in ("arm-a", "arm-b", "true context", "random context", "null context"))
