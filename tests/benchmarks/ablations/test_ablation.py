import json
import tomllib
from pathlib import Path

import pytest

from benchmarks.ablations.ablation import Arm, ablation, arms_of, known_arms, mean_and_interval, read_plan
from cdesearch.errors import InputError
from trainer.recipe import check_recipe

PLAN = """
evaluate = ["beir"]
seeds = [0, 1]
max_tokens = 32
stored = ["binary", "first 4"]
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
"no context" = { "model.contextual" = false }
"context" = { "model.contextual" = true, "learning.steps" = 3 }
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tiny_checkpoint", "joint_checkpoint"])
def test_arms_are_trained_and_measured_once(tmp_path, kind, request):
    words = ["cat", "dog", "water", "moon", "engine", "bread"]
    rows = [{"query": f"{word} {other}", "document": f"the {other} {word}"} for word in words for other in words]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    beir = tmp_path / "beir"
    (beir / "qrels").mkdir(parents=True)
    (beir / "corpus.jsonl").write_text("\n".join(json.dumps({"_id": word, "text": f"the {word}"}) for word in words))
    (beir / "queries.jsonl").write_text("\n".join(json.dumps({"_id": f"q {word}", "text": word}) for word in words))
    (beir / "qrels" / "test.tsv").write_text(
        "\n".join(["query-id\tcorpus-id\tscore", *(f"q {word}\t{word}\t1" for word in words)])
    )
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    for runs in ("runs", "runs", "another"):  # the second and the third time all results are stored
        ablation(plan, tmp_path, request.getfixturevalue(kind), tmp_path / runs, tmp_path)
    assert not (tmp_path / "another" / "plan").exists()
    (record,) = (json.loads(file.read_text()) for file in tmp_path.glob("plan-*.json"))
    without, context, *second = record["arms"]
    assert [arm["name"] for arm in record["arms"]] == [*tomllib.loads(PLAN)["arms"]] * 2
    assert [arm["seed"] for arm in record["arms"]] == [arm["recipe"]["run"]["seed"] for arm in record["arms"]]
    assert [arm["seed"] for arm in second] == [1, 1] and second[0]["held_out"] != without["held_out"]
    assert context["recipe"]["learning"]["steps"] == 3 and not without["recipe"]["model"]["contextual"]
    assert without["ndcg"]["beir"].keys() == {"true", "random", "null", "document", "fused", "binary", "first 4"}
    assert len(context["held_out"]) == 2
    lines = (tmp_path / "runs" / "plan" / "context" / "log.jsonl").read_text().splitlines()
    assert sum("loss" in json.loads(line) and "held_out" not in json.loads(line) for line in lines) == 3


def test_a_plan_that_misses_something_is_refused_by_name(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.replace("max_tokens", "tokens"))
    with pytest.raises(InputError, match="has no max_tokens"):
        ablation(plan, tmp_path, tmp_path, tmp_path, tmp_path)
    plan.write_text(PLAN.replace("first 4", "fist 4"))
    with pytest.raises(InputError, match="fist 4 is not a form of stored vectors"):
        ablation(plan, tmp_path, tmp_path, tmp_path, tmp_path)
    plan.write_text(PLAN.replace('"model.contextual" = false', '"model.contextal" = false'))
    with pytest.raises(InputError, match="did you mean contextual"):
        ablation(plan, tmp_path, tmp_path, tmp_path, tmp_path)


@pytest.fixture
def made_arm(tmp_path, monkeypatch):
    """Make the first arm of PLAN, changed by `old` and `new`, from a start; training is replaced by a marker."""
    plan, start = tmp_path / "plan.toml", tmp_path / "start"
    start.mkdir()

    def train(recipe, *_, **__):
        (recipe.run.out / "checkpoint").mkdir()
        (recipe.run.out / "ndcg.json").write_text('{"beir": {"true": 1, "random": 1, "null": 1, "fused": 1}}')
        raise RuntimeError("trained")

    monkeypatch.setattr("trainer.rounds.train", train)

    def make(old="", new="", start=start, data=tmp_path, out=tmp_path / "new" / "out"):
        plan.write_text(PLAN.replace(old, new) if old else PLAN)
        ablation(plan, data, start, tmp_path / "runs", out)

    return make


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"old": "steps = 2", "new": "steps = 9"}, "learning.steps: 2 -> 9"),
        ({"old": "max_tokens = 32", "new": "max_tokens = 16"}, "plan.max_tokens: 32 -> 16"),
        ({"old": '["beir"]', "new": '["other"]'}, "plan.evaluate: "),
        ({"data": Path("elsewhere")}, "data.pairs: "),
        ({"start": Path(__file__).parent}, "model.start: "),
    ],
)
def test_a_stored_arm_that_was_made_with_something_else_is_refused(made_arm, tmp_path, change, named):
    with pytest.raises(RuntimeError, match="trained"):
        made_arm()
    with pytest.raises(InputError, match="made with other settings") as refused:
        made_arm(**change)
    assert named in str(refused.value) and f"Delete {tmp_path / 'runs' / 'plan' / 'no-context'} " in str(refused.value)


def test_a_stored_arm_without_a_record_of_how_it_was_made_is_refused(made_arm, tmp_path):
    with pytest.raises(RuntimeError, match="trained"):
        made_arm()
    (tmp_path / "runs" / "plan" / "no-context" / "arm.json").unlink()
    with pytest.raises(InputError, match=r"has an arm, but no arm\.json"):
        made_arm()


def test_a_start_that_does_not_exist_is_refused_before_anything_is_made(made_arm, tmp_path):
    with pytest.raises(InputError, match="START is nowhere, and there is no such folder"):
        made_arm(start=Path("nowhere"))
    assert not (tmp_path / "new").exists() and not (tmp_path / "runs").exists()


def test_a_result_of_another_start_is_refused(made_arm, tmp_path):
    recipe = {"model": {"start": "another"}, "run": {"out": "x"}}
    arm = {"name": "no context", "seed": 0, "recipe": recipe, "ndcg": {}, "held_out": [], "minutes": 1.0}
    (tmp_path / "plan-2026-01-01.json").write_text(json.dumps({"plan": tomllib.loads(PLAN), "arms": [arm]}))
    with pytest.raises(InputError, match=r"another recipe \(model\.start: another -> "):
        made_arm(out=tmp_path)


def test_arms_of_earlier_results_are_known_if_their_plan_differs_only_in_seeds(tmp_path):
    planned = tomllib.loads(PLAN)
    arm = {"name": "context", "seed": 7, "recipe": {}, "ndcg": {"beir": {"true": 50.0}}, "held_out": [], "minutes": 1.0}
    file = tmp_path / "plan-2026-01-01.json"
    file.write_text(json.dumps({"machine": {}, "plan": {**planned, "seeds": [7]}, "arms": [arm]}))
    (known,) = known_arms(planned, [file]).items()
    assert known == (("context", 7), Arm(**arm))
    assert not known_arms({**planned, "max_tokens": 64}, [file])
    file.write_text("{}")
    with pytest.raises(InputError, match="not a result of an ablation"):
        known_arms(planned, [file])


def test_the_interval_over_seeds_is_that_of_students_t():
    assert mean_and_interval([50.0]) == "50.00"
    # Mean 2, standard error 1 / sqrt(3), and t = 4.303 at two degrees of freedom.
    assert mean_and_interval([1.0, 2.0, 3.0]) == "2.00 ±2.48"


def test_every_plan_of_the_project_is_valid():
    plans = list(Path(__file__).parents[3].glob("benchmarks/ablations/*.toml"))
    assert plans
    for plan in plans:
        for name, values in arms_of(read_plan(plan), Path("data"), Path("start"), Path("runs")):
            assert check_recipe(values, plan).run.out.parent == Path("runs"), name
