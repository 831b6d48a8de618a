import json
import tomllib
from pathlib import Path

import pytest
from beir_folder import WORDS, write_set

from benchmarks.ablations.ablation import ablation, arms_of, mean_and_interval, read_plan
from cdesearch.errors import InputError
from trainer.recipe import check_recipe

PLAN = """
evaluate = ["beir"]
seeds = [0, 1]
max_tokens = 32
[recipe.data]
pairs = ["pairs.jsonl"]
held_out = 0.4
[recipe.batches]
size = 8
context_size = 4
cluster_size = 8
filter = "none"
[recipe.learning]
steps = 2
warmup = 1
micro_batch = 8
[recipe.run]
watch_every = 10
[arms]
"no context" = { "model.context" = "none" }
"context" = { "learning.steps" = 3 }
"""


def write_data(folder):
    rows = [{"query": f"{word} {other}", "document": f"the {other} {word}"} for word in WORDS for other in WORDS]
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    write_set(folder / "beir")


PLANS = Path(__file__).parents[3] / "benchmarks" / "ablations"


@pytest.mark.parametrize("file", sorted(PLANS.glob("*.toml")), ids=lambda file: file.stem)
def test_every_arm_of_the_plans_here_is_a_recipe(file, tmp_path):
    plan = read_plan(file)
    arms = [check_recipe(values, file) for _, values in arms_of(plan, tmp_path, tmp_path / "start", tmp_path)]
    assert len(arms) == len(plan.arms) * len(plan.seeds)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tiny_checkpoint", "joint_checkpoint"])
def test_arms_are_trained_and_measured_once(tmp_path, kind, request):
    write_data(tmp_path)
    plan = tmp_path / "plan.toml"
    steps = '"learning.steps" = 3'
    plan.write_text(PLAN.replace(steps, f'{steps}, "model.context" = "joint"') if kind == "joint_checkpoint" else PLAN)
    for _ in range(2):  # the second time all results are stored
        ablation(plan, tmp_path, request.getfixturevalue(kind), tmp_path / "runs", tmp_path)
    (record,) = (json.loads(file.read_text()) for file in tmp_path.glob("plan-*.json"))
    without, context, *second = record["arms"]
    assert [arm["name"] for arm in record["arms"]] == [*tomllib.loads(PLAN)["arms"]] * 2
    assert [arm["seed"] for arm in record["arms"]] == [arm["recipe"]["run"]["seed"] for arm in record["arms"]]
    assert [arm["seed"] for arm in second] == [1, 1] and second[0]["held_out"] != without["held_out"]
    assert context["recipe"]["learning"]["steps"] == 3 and without["recipe"]["model"]["context"] == "none"
    assert without["ndcg"]["beir"].keys() == {"true", "random", "null", "document", "fused"}
    assert len(context["held_out"]) == 2
    lines = Path(context["recipe"]["run"]["out"], "log.jsonl").read_text().splitlines()
    assert sum("loss" in json.loads(line) and "held_out" not in json.loads(line) for line in lines) == 3


BAD_VALUES = [
    ('evaluate = ["beir"]', "evaluate = []", "evaluate is empty"),
    ('["beir"]', '["bier"]', "is not a BEIR folder"),
    ('evaluate = ["beir"]', 'evaluate = ["beir", "more/beir"]', "two folders of evaluate have the same name"),
    ("max_tokens", "tokens", r"there is no tokens \(did you mean max_tokens\?\)"),
    ('"model.context" = "none"', '"model.contxt" = "none"', "did you mean context"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD_VALUES)
def test_a_plan_with_a_value_of_a_wrong_kind_is_refused_in_one_line_before_anything_runs(tmp_path, old, new, message):
    write_data(tmp_path)
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.replace(old, new))
    with pytest.raises(InputError, match=message) as raised:
        ablation(plan, tmp_path, tmp_path, tmp_path / "runs", tmp_path / "out")
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "runs").exists() and not [*tmp_path.glob("out/*")]


def test_the_interval_over_seeds_is_that_of_students_t():
    assert mean_and_interval([50.0]) == "50.00"
    # Mean 2, standard error 1 / sqrt(3), and t = 4.303 at two degrees of freedom.
    assert mean_and_interval([1.0, 2.0, 3.0]) == "2.00 ±2.48"
