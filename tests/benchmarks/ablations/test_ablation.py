import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.ablations.ablation import Arm, ablation, known_arms, mean_and_interval, result_file
from benchmarks.ablations.plan import Plan, arms_of, read_plan
from cdesearch.errors import InputError, ModelError, SourceError
from trainer.recipe import check_recipe
from trainer.schema import parse

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
    write_data(tmp_path)
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.replace("max_tokens", "tokens"))
    with pytest.raises(InputError, match=r"there is no tokens \(did you mean max_tokens\?\)"):
        ablation(plan, tmp_path, tmp_path, tmp_path, tmp_path)
    plan.write_text(PLAN.replace("first 4", "fist 4"))
    with pytest.raises(InputError, match="fist 4 is not a form of stored vectors"):
        ablation(plan, tmp_path, tmp_path, tmp_path, tmp_path)
    plan.write_text(PLAN.replace('"model.contextual" = false', '"model.contextal" = false'))
    with pytest.raises(InputError, match="did you mean contextual"):
        ablation(plan, tmp_path, tmp_path, tmp_path, tmp_path)


BAD_VALUES = [
    ('evaluate = ["beir"]', "evaluate = []", "evaluate is empty"),
    ('evaluate = ["beir"]', "evaluate = 5", "evaluate: input should be a valid list"),
    ('evaluate = ["beir"]', 'evaluate = ["beir", "more/beir"]', "two folders of evaluate have the same name"),
    ('"first 4"', '"first 0"', "first 0 is not a form"),
    ("max_tokens = 32", 'max_tokens = "x"', "max_tokens: input should be a valid integer"),
    ("max_tokens = 32", "max_tokens = 0", "max_tokens: input should be from 1 to"),
    ("seeds = [0, 1]", "seeds = 3", "seeds: input should be a valid list"),
    ("seeds = [0, 1]", "seeds = []", "seeds is empty"),
    ("seeds = [0, 1]", "seeds = [0, 0]", "has the folder of the arm no context with seed 0"),
    ('stored = ["binary", "first 4"]', "stored = 4", "stored: input should be a valid list"),
    ('pairs = ["pairs.jsonl"]', "pairs = 3", r"data\.pairs: input should be a valid list"),
    ('[recipe.data]\npairs = ["pairs.jsonl"]\nheld_out = 0.4\n', "", "data: field required"),
    ('"context" =', '"plain" = 3\n"context" =', r"arms\.plain: input should be a table"),
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

    monkeypatch.setattr("trainer.rounds.train", train)

    def make(old="", new="", start=start, data=tmp_path, out=tmp_path / "new" / "out"):
        plan.write_text(PLAN.replace(old, new) if old else PLAN)
        ablation(plan, data, start, tmp_path / "runs", out)

    return make


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"old": "steps = 2", "new": "steps = 9"}, "learning.steps: 2 -> 9"),
        ({"data": "other data"}, "data.pairs: "),
        ({"start": Path(__file__).parent}, "model.start: "),
    ],
)
def test_a_trained_arm_that_was_made_with_another_recipe_is_refused(made_arm, tmp_path, change, named):
    with pytest.raises(RuntimeError, match="trained"):
        made_arm()
    if "data" in change:
        change = {"data": tmp_path / change["data"]}
        change["data"].mkdir()
        write_data(change["data"])
    with pytest.raises(InputError, match="made with other settings") as refused:
        made_arm(**change)
    assert named in str(refused.value) and f"Delete {tmp_path / 'runs' / 'plan' / 'no-context'} " in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [("max_tokens = 32", "max_tokens = 16"), ('["beir"]', '["beir", "more"]'), (', "first 4"]', "]")],
)
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
    planned = parse(Plan, tomllib.loads(PLAN))
    arm = {"name": "context", "seed": 7, "recipe": {}, "ndcg": {"beir": {"true": 50.0}}, "held_out": [], "minutes": 1.0}
    file = tmp_path / "plan-2026-01-01.json"
    file.write_text(json.dumps({"machine": {}, "plan": {**tomllib.loads(PLAN), "seeds": [7]}, "arms": [arm]}))
    (known,) = known_arms(planned, [file]).items()
    assert known == (("context", 7), Arm(**arm))
    assert not known_arms(replace(planned, max_tokens=64), [file])
    file.write_text("{}")
    with pytest.raises(InputError, match="not a result of an ablation"):
        known_arms(planned, [file])


def test_results_of_another_plan_of_the_same_day_are_not_overwritten(tmp_path):
    planned = parse(Plan, tomllib.loads(PLAN))
    first = result_file(tmp_path, "plan", "2026-01-01", planned)
    first.write_text(json.dumps({"plan": tomllib.loads(PLAN), "arms": []}))
    assert result_file(tmp_path, "plan", "2026-01-01", replace(planned, seeds=[5])) == first
    other = result_file(tmp_path, "plan", "2026-01-01", replace(planned, max_tokens=64))
    assert other.name == "plan-2026-01-01-2.json"


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
