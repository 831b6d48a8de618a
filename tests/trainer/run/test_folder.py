import pytest

from cdesearch.errors import InputError
from trainer.recipe import check_recipe
from trainer.run.folder import claim_folder, refuse_earlier_run, refuse_overwritten_models
from trainer.run.state import STATE


def recipe_with(folder, **run):
    values = {
        "data": {"pairs": ["p"]},
        "model": {"start": run.pop("start", "s")},
        "run": {"out": folder / "out", **run},
    }
    return check_recipe(values, folder)


@pytest.mark.parametrize("name", [STATE, "checkpoint"])
def test_a_new_run_does_not_replace_an_earlier_one(tmp_path, name):
    recipe = recipe_with(tmp_path)
    refuse_earlier_run(recipe.run.out)
    claim_folder(recipe.run.out)
    refuse_earlier_run(recipe.run.out)  # of a run that was stopped before its first state, nothing is lost
    (recipe.run.out / name).mkdir()
    with pytest.raises(InputError, match=r"out holds an earlier run, which would be lost\. Add --resume .*remove the"):
        refuse_earlier_run(recipe.run.out)


@pytest.mark.parametrize("key", ["start", "surrogate"])
@pytest.mark.parametrize("name", ["out", "out/../out/checkpoint", "link"])
def test_a_model_that_the_run_would_overwrite_is_refused(tmp_path, key, name):
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "out" / "checkpoint")
    with pytest.raises(InputError, match=rf"{key} is .*{name}, which the run would overwrite\. Set another run\.out"):
        refuse_overwritten_models(recipe_with(tmp_path, **{key: tmp_path / name}))
    refuse_overwritten_models(recipe_with(tmp_path, **{key: tmp_path / "another"}))
