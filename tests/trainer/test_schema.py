import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from cdesearch.errors import InputError
from trainer.recipe import check_recipe, differences, load_recipe, recipe_from_json, recipe_to_json
from trainer.schema import SchemaError, above, at_least, between, parse, to_plain

RECIPE = {"data": {"pairs": ["p"]}, "model": {"start": "s"}, "run": {"out": "o"}}


@dataclass(frozen=True, kw_only=True)
class Inner:
    path: Path
    ratio: float = 0.5
    share: float = field(default=0.5, metadata=between(0, 1))
    scale: float = field(default=0.5, metadata=above(0, 9))
    size: int | None = field(default=None, metadata=at_least(2))


@dataclass(frozen=True, kw_only=True)
class Outer:
    inner: Inner
    on: bool = False
    count: int | None = None
    kind: Literal["a", "b"] = "a"
    names: list[str] = field(default_factory=list)
    pairs: dict[str, tuple[str, str]] = field(default_factory=dict)


def test_values_have_the_annotated_types_and_survive_json():
    values = {"inner": {"path": "x/y", "ratio": 2}, "count": 3, "kind": "b", "names": ["n"], "pairs": {"d": ["q", ""]}}
    parsed = parse(Outer, values)
    assert parsed == Outer(
        inner=Inner(path=Path("x/y"), ratio=2.0), count=3, kind="b", names=["n"], pairs={"d": ("q", "")}
    )
    assert isinstance(parsed.inner.ratio, float)
    assert parse(Outer, json.loads(json.dumps(to_plain(parsed)))) == parsed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inner": 3}, "inner: input should be a table"),
        ({"inner": {}}, "inner.path: field required"),
        ({"inner": {"path": 1}}, "inner.path: input should be a path"),
        ({"inner": {"path": "p", "ratio": "much"}}, "inner.ratio: input should be a valid number"),
        ({"inner": {"path": "p", "ratio": True}}, "inner.ratio: input should be a valid number"),
        ({"inner": {"path": "a\0b"}}, "inner.path: input should be a path"),
        ({"inner": {"path": ""}}, "inner.path: input should be a path"),
        ({"inner": {"path": "p", "ratio": float("nan")}}, "inner.ratio: input should be a finite number"),
        ({"inner": {"path": "p", "ratio": 10**400}}, "inner.ratio: input should be a finite number"),
        ({"inner": {"path": "p", "share": 1.01}}, "inner.share: input should be from 0 to 1"),
        ({"inner": {"path": "p", "share": -0.01}}, "inner.share: input should be from 0 to 1"),
        ({"inner": {"path": "p", "scale": 9.5}}, "inner.scale: input should be above 0 and at most 9"),
        ({"inner": {"path": "p", "scale": 0}}, "inner.scale: input should be above 0 and at most 9"),
        ({"inner": {"path": "p", "size": 1}}, "inner.size: input should be at least 2"),
        ({"on": 1}, "on: input should be true or false"),
        ({"count": 1.5}, "count: input should be a valid integer"),
        ({"count": True}, "count: input should be a valid integer"),
        ({"kind": "c"}, "kind: input should be 'a' or 'b'"),
        ({"names": "n"}, "names: input should be a valid list"),
        ({"names": ["n", 2]}, "names.1: input should be a valid string"),
        ({"pairs": {"d": ["q"]}}, "pairs.d: input should be a list of 2"),
        ({"pairs": []}, "pairs: input should be a table"),
        ({"size": 1}, "size: unknown key"),
    ],
)
def test_a_value_that_does_not_fit_is_named(change, message):
    with pytest.raises(SchemaError, match=message) as raised:
        parse(Outer, {"inner": {"path": "p"}} | change)
    assert len(raised.value.problems) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"run": {}}, "run.out: field required"),
        ({"run": {"out": "o"}, "batches": {"size": "many"}}, "batches.size: input should be a valid integer"),
        ({"learning": {"precision": "fp8"}}, "learning.precision: input should be 'fp32' or 'bf16'"),
        ({"model": {"strat": "s"}}, "there is no model.strat (did you mean start?)"),  # reported first
        ({"model": 1}, "model: input should be a table"),
        ({"modell": {}}, "there is no modell (did you mean model?)"),
    ],
)
def test_an_invalid_recipe_is_refused_in_one_line(change, message):
    with pytest.raises(InputError) as raised:
        check_recipe(RECIPE | change, Path("r.toml"))
    assert str(raised.value) == f"r.toml: {message}. See trainer/recipe.py and trainer/objective.py for every key."


@pytest.mark.parametrize("share", [0, 1])
def test_numbers_at_the_ends_of_their_ranges_are_accepted(share):
    inner = parse(Inner, {"path": "p", "share": share, "scale": 1e-300, "size": 2})
    assert (inner.share, inner.scale, inner.size) == (share, 1e-300, 2)
    assert parse(Inner, {"path": "p", "size": None}).size is None


def test_a_group_that_is_not_a_pattern_is_named():
    with pytest.raises(InputError, match=r"r\.toml: data\.groups\.a is not a regular expression"):
        check_recipe(RECIPE | {"data": {"pairs": ["p"], "groups": {"a": "("}}}, Path("r.toml"))


@pytest.mark.parametrize(
    ("key", "value", "accepted"),
    [
        ("batches.size", 1, "from 2 to 1000000000"),
        ("batches.cluster_size", 0, "from 1 to 1000000000"),
        ("batches.context_size", 0, "from 1 to 1000000000"),
        ("batches.max_tokens", 0, "from 1 to 1000000000"),
        ("batches.null_share", 1.5, "from 0 to 1"),
        ("batches.eps", -5, "from 0 to 100"),
        ("run.seed", 2**40, "from 0 to 2147483647"),
        ("learning.micro_batch", 0, "from 1 to 1000000000"),
        ("learning.steps", -1, "from 0 to 1000000000"),
        ("learning.epochs", 0, "from 1 to 1000000000"),
        ("learning.rate", 0.0, "above 0 and at most 10"),
        ("learning.rate", 1e300, "above 0 and at most 10"),
        ("learning.gate_rate", 11.0, "above 0 and at most 10"),
        ("learning.decay", 1e300, "from 0 to 10"),
        ("learning.clip", 1e300, "above 0 and at most 1000000000"),
        ("learning.temperature", 1e-300, "from 0.001 to 1000"),
        ("learning.teacher_temperature", 1e300, "from 0.001 to 1000"),
        ("objective.margin", 1e300, "from 0 to 2"),
        ("objective.quantise_scale", 1e300, "from 0.5 to 100"),
        ("learning.gate_rate", float("inf"), "a finite number"),
        ("learning.temperature", -0.05, "from 0.001 to 1000"),
        ("learning.temperature", float("nan"), "a finite number"),
        ("data.held_out", -0.1, "from 0 to 1"),
        ("learning.steps", 10**23, "from 0 to 1000000000"),
        ("learning.micro_batch", 10**20, "from 1 to 1000000000"),
        ("run.workers", 10**7, "from 0 to 256"),
        ("run.watch_every", 0, "from 1 to 1000000000"),
    ],
)
def test_a_number_out_of_its_range_is_named_with_the_range(key, value, accepted):
    section, _, name = key.partition(".")
    values = {**RECIPE, section: {**RECIPE.get(section, {}), name: value}}
    with pytest.raises(InputError) as raised:
        check_recipe(values, Path("r.toml"))
    assert str(raised.value).startswith(f"r.toml: {key}: input should be {accepted}.")


BAD_RECIPES = {
    "Latin-1": b"[data]\npairs = ['caf\xe9']",
    "deep": b"a = " + b"[" * 5000,
    "a long number": b"a = " + b"9" * 5000,
    "NUL": b"a = '\0'",
}


@pytest.mark.parametrize("name", BAD_RECIPES)
def test_a_file_that_is_not_a_recipe_is_named(tmp_path, name):
    file = tmp_path / "recipe.toml"
    file.write_bytes(BAD_RECIPES[name])
    with pytest.raises(InputError, match=r"recipe\.toml is not a recipe"):
        load_recipe(file)


def test_an_impossible_file_name_a_folder_and_a_pipe_are_not_recipes(tmp_path):
    for file, reason in ((tmp_path / "a\0b", "is not a recipe"), (tmp_path, "is a folder")):
        with pytest.raises(InputError, match=reason):
            load_recipe(file)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InputError, match="is not a plain file"):
            load_recipe(tmp_path / "pipe")


@pytest.mark.parametrize("text", ["[" * 5000, "9" * 5000])
def test_a_setting_that_cannot_be_read_is_named(tmp_path, text):
    file = tmp_path / "recipe.toml"
    file.write_text('data = {pairs = ["p"]}\nmodel = "m"\n')
    with pytest.raises(InputError, match=r"--set learning\.steps has a value that cannot be read"):
        load_recipe(file, {"learning.steps": text})
    with pytest.raises(InputError, match="model is not a table"):
        load_recipe(file, {"model.start": "m"})


def test_a_recipe_survives_json_and_lists_its_differences():
    recipe = check_recipe(RECIPE | {"data": {"pairs": ["p"], "prefixes": {"d": ["q: ", "d: "]}}}, Path("r.toml"))
    again = recipe_from_json(recipe_to_json(recipe))
    assert again == recipe and differences(again, recipe) == []
    other = check_recipe(RECIPE | {"batches": {"size": 7}}, Path("r.toml"))
    assert differences(check_recipe(RECIPE, Path("r.toml")), other) == ["batches.size: 128 -> 7"]
