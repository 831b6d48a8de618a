from pathlib import Path

import pytest

from cdesearch.errors import InputError
from trainer.recipe import differences, load_recipe

RECIPE = '[data]\npairs = ["p"]\n[model]\nstart = "m"\n[run]\nout = "o"\n'


def test_a_recipe_finds_its_data_under_the_data_folder(tmp_path, monkeypatch):
    (tmp_path / "p").mkdir()
    (tmp_path / "recipe.toml").write_text(RECIPE)
    monkeypatch.setenv("CDESEARCH_DATA", str(tmp_path))
    assert load_recipe(tmp_path / "recipe.toml").data.pairs == [tmp_path / "p"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (RECIPE + "[batches]\nsise = 3\n", "did you mean size"),
        (RECIPE.replace("[run]", "[rum]"), "did you mean run"),
        (RECIPE + "[batches]\nsize = 'many'\n", "batches.size"),
        ("[data", "is not a recipe"),
    ],
)
def test_a_typo_in_a_recipe_is_named(tmp_path, text, named):
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(InputError, match=named):
        load_recipe(tmp_path / "r.toml")


MASKED = RECIPE + '[batches]\nfilter = "dense"\neps = 0.0\n'


@pytest.mark.parametrize("surrogate", ["", 'surrogate = "m"'])
def test_a_filter_that_masks_every_error_of_the_start_is_refused(tmp_path, surrogate):
    (tmp_path / "r.toml").write_text(MASKED.replace('out = "o"\n', f'out = "o"\n{surrogate}\n'))
    with pytest.raises(InputError, match="every document that the start ranks above the right one is masked"):
        load_recipe(tmp_path / "r.toml")
    for change in ({"run.surrogate": "s"}, {"batches.eps": "0.1"}, {"batches.filter": "fused"}):
        load_recipe(tmp_path / "r.toml", change)


def test_a_number_of_tokens_that_nothing_reads_is_refused(tmp_path):
    file = tmp_path / "recipe.toml"
    file.write_text(RECIPE.replace("[run]", "context_tokens = 1\n[run]"))
    with pytest.raises(InputError, match=r"model\.context_tokens is 1, but no tokens of the context are read"):
        load_recipe(file)
    changes = {"model.context_source": "tokens", "model.first_stage": "shared"}
    assert load_recipe(file, changes).model.context_tokens == 1


@pytest.mark.parametrize("written", ["./m", "{folder}/m", "link", "{folder}/x/../m"])
def test_a_filter_by_the_start_is_refused_however_its_path_is_written(tmp_path, monkeypatch, written):
    monkeypatch.chdir(tmp_path)
    for name in ("m", "x"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("m")
    (tmp_path / "r.toml").write_text(MASKED)
    with pytest.raises(InputError, match="the start as surrogate"):
        load_recipe(tmp_path / "r.toml", {"run.surrogate": written.format(folder=tmp_path)})


def test_attention_is_trained_on_documents_beside_the_batch_except_in_the_setting_of_the_paper():
    recipes = {file.stem: load_recipe(file) for file in (Path(__file__).parents[2] / "trainer/recipes").glob("*.toml")}
    attending = {name for name, one in recipes.items() if one.model.contextual and one.model.gated_attention}
    assert {"small", "tiny", "gpu", "paper"} <= attending
    assert {name for name in attending if recipes[name].batches.context == "batch"} == {"paper"}


def test_recipes_in_the_repository_parse_and_can_be_overridden(tmp_path):
    from pathlib import Path

    import trainer

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
            {"model.window_tokens": "64", "batches.by_document": "true", "model.context_attention": "joint"},
            "model.window_tokens needs the context source pooled and no joint attention",
        ),
        ({"model.window_positions": "restarted"}, "window_positions is restarted, but there are no windows"),
        ({"objective.sequence_share": "1.5"}, "sequence_share: input should be from 0 to 1"),
    ],
)
def test_windows_need_batches_of_documents_and_a_network_that_reads_them(tmp_path, changes, message):
    (tmp_path / "r.toml").write_text('[data]\npairs = ["p"]\n[model]\nstart = "s"\n[run]\nout = "o"\n')
    with pytest.raises(InputError, match=message):
        load_recipe(tmp_path / "r.toml", changes)


def test_the_recipe_of_the_paper_has_a_clustered_batch_for_each_gpu():
    batches = load_recipe(Path(__file__).parents[2] / "trainer" / "recipes" / "paper.toml").batches
    assert batches.processes == "own" and batches.clustered


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("margin = -1", r"objective\.margin: input should be from 0 to 2"),
        ("quantise = 'int4'", r"objective\.quantise: input should be 'none', 'int8' or 'binary'"),
        ("quantise_scale = 0", r"objective\.quantise_scale: input should be from 0\.5 to 100"),
        ("matryoshka = [64, 0]", r"objective\.matryoshka has a number below 1"),
        ("matryoshka = ['all']", r"objective\.matryoshka\.0: input should be a valid integer"),
        ("symetric = true", r"did you mean symmetric"),
        ("teacher_scope = 'own'", r"objective\.teacher_scope: input should be 'batch' or 'local'"),
        ("matryoshka = [8, 8]", r"objective\.matryoshka has a number twice"),
        ("quantise_scale = 9", r"objective\.quantise_scale has no effect without objective\.quantise"),
        ("document_share_to = 1", r"objective\.document_share_to has no effect without objective\.contextual"),
        ("teacher = 'pairs'", r"objective\.teacher has no effect without learning\.teacher_weight"),
    ],
)
def test_an_objective_that_makes_no_sense_is_named(tmp_path, keys, message):
    (tmp_path / "r.toml").write_text(f"{RECIPE}[objective]\n{keys}\n")
    with pytest.raises(InputError, match=message):
        load_recipe(tmp_path / "r.toml")


@pytest.mark.parametrize("weight", ["1e300", "100.5", "1e-300"])
def test_a_weight_that_packs_a_domain_without_end_or_never_is_refused(tmp_path, weight):
    (tmp_path / "r.toml").write_text(RECIPE)
    with pytest.raises(InputError, match=r"data\.weights\.x is .*Set it to a number from 0\.001 to 100, or name"):
        load_recipe(tmp_path / "r.toml", {"data.weights": f"{{x = {weight}}}"})


def test_scores_of_pair_files_cannot_be_used_with_negatives_that_the_run_finds(tmp_path):
    (tmp_path / "r.toml").write_text(RECIPE)
    changes = {"objective.teacher": "pairs", "learning.teacher_weight": "0.5", "batches.hard_negatives": "1"}
    load_recipe(tmp_path / "r.toml", changes)
    with pytest.raises(InputError, match=r"mining\.rounds finds new hard negatives"):
        load_recipe(tmp_path / "r.toml", {**changes, "mining.rounds": "1"})


def test_a_key_of_a_table_in_a_section_can_be_set(tmp_path):
    (tmp_path / "r.toml").write_text(RECIPE)
    assert load_recipe(tmp_path / "r.toml", {"data.weights.x": "2.5"}).data.weights == {"x": 2.5}
    with pytest.raises(InputError, match="pairs is not a table"):
        load_recipe(tmp_path / "r.toml", {"data.pairs.x": "2.5"})


def test_settings_of_mining_need_rounds(tmp_path):
    (tmp_path / "r.toml").write_text(RECIPE)
    with pytest.raises(InputError, match=r"mining\.count has no effect without mining\.rounds"):
        load_recipe(tmp_path / "r.toml", {"mining.count": "3"})
