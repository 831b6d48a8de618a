import json
import tomllib
from pathlib import Path

import pytest

from benchmarks.ablations.ablation import ablation, arms_of, mean_and_interval, read_plan
from cdesearch.errors import InputError, ModelError, SourceError
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
    words = ["cat", "dog", "water", "moon", "engine", "bread"]
    rows = [{"query": f"{word} {other}", "document": f"the {other} {word}"} for word in words for other in words]
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    beir = folder / "beir"
    (beir / "qrels").mkdir(parents=True)
    (beir / "corpus.jsonl").write_text("\n".join(json.dumps({"_id": word, "text": f"the {word}"}) for word in words))
    (beir / "queries.jsonl").write_text("\n".join(json.dumps({"_id": f"q {word}", "text": word}) for word in words))
    (beir / "qrels" / "test.tsv").write_text(
        "\n".join(["query-id\tcorpus-id\tscore", *(f"q {word}\t{word}\t1" for word in words)])
    )


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
    plan.write_text(PLAN)
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
    lines = (tmp_path / "runs" / "plan" / "context" / "log.jsonl").read_text().splitlines()
    assert sum("loss" in json.loads(line) and "held_out" not in json.loads(line) for line in lines) == 3


def test_a_plan_that_misses_something_is_refused_by_name(tmp_path):
    write_data(tmp_path)
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.replace("max_tokens", "tokens"))
    with pytest.raises(InputError, match=r"there is no tokens \(did you mean max_tokens\?\)"):
        ablation(plan, tmp_path, tmp_path, tmp_path, tmp_path)
    plan.write_text(PLAN.replace('"model.context" = "none"', '"model.contxt" = "none"'))
    with pytest.raises(InputError, match="did you mean context"):
        ablation(plan, tmp_path, tmp_path, tmp_path, tmp_path)


BAD_VALUES = [
    ('evaluate = ["beir"]', "evaluate = []", "evaluate is empty"),
    ('evaluate = ["beir"]', "evaluate = 5", "evaluate: Expected `array`"),
    ('evaluate = ["beir"]', 'evaluate = ["beir", "more/beir"]', "two folders of evaluate have the same name"),
    ("max_tokens = 32", 'max_tokens = "x"', "max_tokens: Expected `int`"),
    ("max_tokens = 32", "max_tokens = 0", "max_tokens: Expected `int` >= 1"),
    ("seeds = [0, 1]", "seeds = 3", "seeds: Expected `array`"),
    ("seeds = [0, 1]", "seeds = []", "seeds is empty"),
    ("seeds = [0, 1]", "seeds = [0, 0]", "has the folder of the arm no context with seed 0"),
    ('pairs = ["pairs.jsonl"]', "pairs = 3", r"data\.pairs: Expected `array`"),
    ('[recipe.data]\npairs = ["pairs.jsonl"]\nheld_out = 0.4\n', "", "missing required field `data`"),
    ('"context" =', '"plain" = 3\n"context" =', r"arms.*: Expected `object`"),
    ('"context" =', '"no-context" =', "has the folder of the arm no context"),
    ('"context" =', '"data" =', "has the folder of the prepared data"),
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


def test_a_plan_without_arms_is_refused(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.partition("[arms]")[0] + "[arms]\n")
    with pytest.raises(InputError, match="arms is empty"):
        ablation(plan, tmp_path, tmp_path, tmp_path, tmp_path)


@pytest.fixture
def made_arm(tmp_path, monkeypatch):
    """Make the first arm of PLAN, changed by `old` and `new`, from a start; training is replaced by a marker."""
    plan, start = tmp_path / "plan.toml", tmp_path / "start"
    start.mkdir()
    write_data(tmp_path)

    def train(recipe, *_, **__):
        (recipe.run.out / "checkpoint").mkdir()
        (recipe.run.out / "ndcg.json").write_text('{"beir": {"true": 1, "random": 1, "null": 1, "fused": 1}}')
        raise RuntimeError("trained")

    monkeypatch.setattr("trainer.train.train", train)

    def make(old="", new="", start=start, data=tmp_path, out=tmp_path / "new" / "out"):
        plan.write_text(PLAN.replace(old, new) if old else PLAN)
        ablation(plan, data, start, tmp_path / "runs", out)

    return make


@pytest.mark.parametrize(
    "change",
    [{"old": "steps = 2", "new": "steps = 9"}, {"data": "other data"}, {"start": Path(__file__).parent}],
)
def test_a_trained_arm_that_was_made_with_another_recipe_is_refused(made_arm, tmp_path, change):
    with pytest.raises(RuntimeError, match="trained"):
        made_arm()
    if "data" in change:
        change = {"data": tmp_path / change["data"]}
        change["data"].mkdir()
        write_data(change["data"])
    with pytest.raises(InputError, match="made with another recipe") as refused:
        made_arm(**change)
    assert f"Delete {tmp_path / 'runs' / 'plan' / 'no-context'}, " in str(refused.value)


@pytest.mark.parametrize(("old", "new"), [("max_tokens = 32", "max_tokens = 16"), ('["beir"]', '["beir", "more"]')])
def test_an_arm_is_measured_again_but_not_trained_again_if_the_plan_evaluates_otherwise(made_arm, tmp_path, old, new):
    with pytest.raises(RuntimeError, match="trained"):
        made_arm()
    (tmp_path / "more").symlink_to("beir")
    measured = tmp_path / "runs" / "plan" / "no-context" / "ndcg.json"
    with pytest.raises(ModelError):  # of the marker, which is not a model that could be measured
        made_arm(old, new)
    assert not measured.exists()


@pytest.mark.parametrize("change", [{"old": '["beir"]', "new": '["bier"]'}, {"data": Path("elsewhere")}])
def test_data_that_does_not_exist_is_refused_before_an_arm_is_made(made_arm, tmp_path, change):
    with pytest.raises(SourceError, match=r"is not a BEIR folder|There is no pair file"):
        made_arm(**change)
    assert not (tmp_path / "runs").exists()


def test_the_folder_of_an_arm_that_has_not_been_trained_takes_another_recipe(made_arm, tmp_path):
    with pytest.raises(RuntimeError, match="trained"):
        made_arm()
    (tmp_path / "runs" / "plan" / "no-context" / "checkpoint").rmdir()
    with pytest.raises(RuntimeError, match="trained"):
        made_arm("steps = 2", "steps = 9")


def test_a_start_that_does_not_exist_is_refused_before_anything_is_made(made_arm, tmp_path):
    with pytest.raises(InputError, match="START is nowhere, and there is no such folder"):
        made_arm(start=Path("nowhere"))
    assert not (tmp_path / "new").exists() and not (tmp_path / "runs").exists()


def test_the_interval_over_seeds_is_that_of_students_t():
    assert mean_and_interval([50.0]) == "50.00"
    # Mean 2, standard error 1 / sqrt(3), and t = 4.303 at two degrees of freedom.
    assert mean_and_interval([1.0, 2.0, 3.0]) == "2.00 ±2.48"
