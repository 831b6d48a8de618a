from pathlib import Path

import pytest

import trainer
from cdesearch.errors import InputError
from trainer.recipe import differences, load_recipe

RECIPE = '[data]\npairs = ["p"]\n[model]\nstart = "m"\n[run]\nout = "o"\n'


def test_a_recipe_finds_its_data_under_the_data_folder(tmp_path, monkeypatch):
    (tmp_path / "p").mkdir()
    (tmp_path / "recipe.toml").write_text(RECIPE)
    monkeypatch.setenv("CDESEARCH_DATA", str(tmp_path))
    assert load_recipe(tmp_path / "recipe.toml").data.pairs == [tmp_path / "p"]


def test_a_file_that_is_not_toml_is_no_recipe(tmp_path):
    (tmp_path / "r.toml").write_text("[data")
    with pytest.raises(InputError, match="is not a recipe"):
        load_recipe(tmp_path / "r.toml")


def test_recipes_in_the_repository_parse_and_can_be_overridden(tmp_path):
    for file in sorted((Path(trainer.__file__).parent / "recipes").glob("*.toml")):
        recipe = load_recipe(file, {"batches.size": "7", "run.out": "here"})
        assert recipe.batches.size == 7 and str(recipe.run.out) == "here"
        other = load_recipe(file, {"batches.size": "8", "run.out": "here"})
        assert differences(recipe, other) == ["batches.size: 7 -> 8"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model.window_tokens": "64"}, "model.window_tokens needs batches of the chunks of long documents"),
        ({"objective.contextual": "true"}, "objective.contextual needs batches of the chunks of long documents"),
        (
            {"model.window_tokens": "64", "batches.clusters": "documents", "model.context": "joint"},
            "model.window_tokens and joint attention exclude each other",
        ),
        ({"objective.matryoshka": "[8, 0]"}, r"objective\.matryoshka\[1\]: Expected `int` >= 1"),
        ({"objective.quantise": "int4"}, r"objective\.quantise: Invalid enum value 'int4'"),
        ({"rum.out": "x"}, r"there is no rum \(did you mean run\?\)"),
        ({"objective.margn": "1"}, r"there is no objective\.margn \(did you mean margin\?\)"),
        ({"learning.rate": "nan"}, r"learning\.rate: Expected `float` > 0\.0"),
        ({"learning.steps": "true"}, r"learning\.steps: Expected `int"),
        ({"data.groups": '{a = "("}'}, r"data\.groups\.a is no pattern"),
        ({"model.start": ""}, r"model\.start: Expected a path"),
        ({"data.pairs.x": "2.5"}, "pairs is not a table"),
    ],
)
def test_what_makes_no_sense_is_named_with_its_key(tmp_path, changes, message):
    (tmp_path / "r.toml").write_text(RECIPE)
    with pytest.raises(InputError, match=message) as raised:
        load_recipe(tmp_path / "r.toml", changes)
    assert "\n" not in str(raised.value)


def test_a_key_of_a_table_in_a_section_can_be_set(tmp_path):
    (tmp_path / "r.toml").write_text(RECIPE)
    assert load_recipe(tmp_path / "r.toml", {"data.groups.x": "a"}).data.groups == {"x": "a"}
