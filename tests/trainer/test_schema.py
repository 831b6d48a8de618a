import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from cdesearch.errors import InputError
from trainer.recipe import check_recipe, differences, recipe_from_json, recipe_to_json
from trainer.schema import SchemaError, parse, to_plain

RECIPE = {"data": {"pairs": ["p"]}, "model": {"start": "s"}, "run": {"out": "o"}}


@dataclass(frozen=True, kw_only=True)
class Inner:
    path: Path
    ratio: float = 0.5


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
        ({"model": {"strat": "s"}}, "there is no model.strat, did you mean start"),  # reported first
        ({"model": 1}, "model: input should be a table"),
        ({"modell": {}}, "there is no modell, did you mean model"),
    ],
)
def test_an_invalid_recipe_is_refused_in_one_line(change, message):
    with pytest.raises(InputError) as raised:
        check_recipe(RECIPE | change, Path("r.toml"))
    assert str(raised.value) == f"r.toml: {message}. See trainer/recipe.py for every key."


def test_a_recipe_survives_json_and_lists_its_differences():
    recipe = check_recipe(RECIPE | {"data": {"pairs": ["p"], "prefixes": {"d": ["q: ", "d: "]}}}, Path("r.toml"))
    again = recipe_from_json(recipe_to_json(recipe))
    assert again == recipe and differences(again, recipe) == []
    other = check_recipe(RECIPE | {"batches": {"size": 7}}, Path("r.toml"))
    assert differences(check_recipe(RECIPE, Path("r.toml")), other) == ["batches.size: 128 -> 7"]
