import json

import numpy as np
import pytest
from beir_folder import write_set

from benchmarks.figures.command import analyse
from benchmarks.figures.neighbours import neighbour_recall
from cdesearch.errors import InputError


def test_the_recall_of_neighbours_is_the_share_of_the_second_ranking_in_the_first():
    first, second = np.array([[0, 1, 2, 3], [4, 5, 6, 7]]), np.array([[3, 0, 8, 9], [4, 5, 0, 1]])
    assert neighbour_recall(first, second, n=2, k=2) == 100 * (0.5 + 1) / 2
    assert neighbour_recall(first, second, n=2, k=4) == 100


def test_a_model_keeps_all_its_own_neighbours(tmp_path, tiny_checkpoint, closed_checkpoint, capsys):
    corpus = [{"_id": f"d{n}", "title": "", "text": f"moon {n} water {n * n}"} for n in range(120)]
    data = [write_set(tmp_path / "set", corpus=corpus)]
    stages = [tiny_checkpoint, tiny_checkpoint], [tiny_checkpoint, closed_checkpoint]
    analyse("neighbours", data, None, *stages, tmp_path / "work", tmp_path / "out")
    (file,) = (tmp_path / "out").glob("*.json")
    series = json.loads(file.read_text())["figure"]["series"]
    same, other = (series[f"{tiny_checkpoint} to {second}, n = 50"] for second in stages[1])
    shown = capsys.readouterr().err
    assert "Ranking documents: 4" in shown and f"set: {tiny_checkpoint} to {closed_checkpoint}" in shown
    assert same == [[50, 100], [100, 100]]
    assert other[0][1] < 100 and other[0][1] <= other[1][1]


def test_each_first_stage_needs_a_second(tmp_path, tiny_checkpoint):
    with pytest.raises(InputError, match="two stages"):
        analyse("neighbours", [tmp_path], None, [tiny_checkpoint], None, tmp_path, tmp_path)
    with pytest.raises(InputError, match=r"--first is given 2 times, and --second 1 time\."):
        analyse("neighbours", [tmp_path], None, [tiny_checkpoint] * 2, [tiny_checkpoint], tmp_path, tmp_path)
    with pytest.raises(InputError, match="no stages"):
        analyse("storage", [tmp_path], None, [tiny_checkpoint], None, tmp_path, tmp_path)
