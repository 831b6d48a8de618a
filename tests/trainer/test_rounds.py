import gzip
import json

import numpy as np
import pytest
import torch
from random_biencoder import biencoder_folder

from cdesearch.errors import InputError
from cdesearch.models.contextual.model import load_checkpoint
from cdesearch.progress import Silent
from trainer import rounds as module
from trainer.__main__ import main
from trainer.command import train as command
from trainer.recipe import load_recipe
from trainer.rounds import train_in_rounds
from trainer.run.log import read_log

WORDS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone", "light"]


@pytest.fixture
def recipe_file(tmp_path):
    random = np.random.default_rng(0)
    rows = [{"query": f"{random.choice(WORDS)} {n}", "document": " ".join(random.choice(WORDS, 4))} for n in range(50)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    biencoder_folder(tmp_path / "bert")
    (tmp_path / "recipe.toml").write_text(
        f"""
        [data]
        pairs = ["{tmp_path}/pairs.jsonl"]
        held_out = 0.0
        [model]
        start = "{tmp_path}/bert"
        context = "statistics"
        [batches]
        size = 10
        context_size = 10
        cluster_size = 10
        max_tokens = 16
        hard_negatives = 4
        [learning]
        steps = 3
        warmup = 1
        [mining]
        rounds = 2
        depth = 5
        [run]
        out = "{tmp_path}/out"
        """
    )
    return tmp_path / "recipe.toml"


def mined(out, number):
    with gzip.open(out / f"mined-{number}" / "pairs.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def weights(checkpoint):
    return load_checkpoint(checkpoint).state_dict()


def test_the_second_round_begins_with_the_start_and_has_the_negatives_of_both(recipe_file, tmp_path, monkeypatch):
    recipes, out = [], tmp_path / "out"
    real = module.train
    monkeypatch.setattr(
        module, "train", lambda recipe, *rest, **keys: recipes.append(recipe) or real(recipe, *rest, **keys)
    )
    monkeypatch.setattr(module, "MINED", 1)
    folder = train_in_rounds(load_recipe(recipe_file, {"batches.hard_negatives": "1"}), Silent())
    assert folder == out / "checkpoint"
    assert [recipe.model.start for recipe in recipes] == [tmp_path / "bert"] * 2
    assert [recipe.run.out for recipe in recipes] == [out / "round-1", out]
    first, second = mined(out, 1), mined(out, 2)
    assert any(row["negatives"] for row in first)
    for row, again in zip(first, second, strict=True):
        assert len(row["negatives"]) <= 1 and set(row["negatives"]) <= set(again["negatives"])
        assert row["document"] not in again["negatives"]
    assert any(len(row["negatives"]) > 1 for row in second)
    one, two = weights(out / "round-1" / "checkpoint"), weights(folder)
    assert not all(torch.equal(tensor, two[name]) for name, tensor in one.items())


@pytest.mark.slow
def test_a_run_that_is_stopped_continues_with_the_rest(recipe_file, tmp_path, monkeypatch):
    train_in_rounds(load_recipe(recipe_file, {"run.out": f"'{tmp_path}/whole'"}), Silent())
    real, calls = module.mine, []

    def stopped(*given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(module, "mine", stopped)
    assert main([str(recipe_file)]) == 130
    out = tmp_path / "out"
    assert (out / "round-1" / "checkpoint").is_dir() and not (out / "mined-2").exists()
    with pytest.raises(InputError, match="Add --resume to continue it"):
        train_in_rounds(load_recipe(recipe_file), Silent())
    log = read_log(out / "round-1")
    assert main([str(recipe_file), "--resume"]) == 0
    assert len(calls) == 3 and read_log(out / "round-1") == log, "neither mined nor trained again"
    whole, continued = weights(tmp_path / "whole" / "checkpoint"), weights(out / "checkpoint")
    assert all(torch.equal(tensor, continued[name]) for name, tensor in whole.items())


def test_the_command_trains_in_rounds(recipe_file, tmp_path):
    command(recipe_file, ["mining.first='start'", "mining.rounds=1"])
    assert {path.name for path in (tmp_path / "out").glob("*-*")} == {"mined-1"}
    assert (tmp_path / "out" / "checkpoint").is_dir()


def test_rounds_that_continue_have_one_recipe(recipe_file, tmp_path):
    once = train_in_rounds(load_recipe(recipe_file), Silent())
    assert train_in_rounds(load_recipe(recipe_file), Silent(), resume=True) == once
    with pytest.raises(InputError, match=r"out/round-1 was started with another recipe: learning.rate: .* -> 0.5"):
        train_in_rounds(load_recipe(recipe_file, {"learning.rate": "0.5"}), Silent(), resume=True)


def test_a_folder_of_somebody_else_is_left_alone(recipe_file, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty and not the folder of a run"):
        train_in_rounds(load_recipe(recipe_file), Silent())
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.txt"]
