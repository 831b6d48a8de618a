import gzip
import json

import numpy as np
import pytest
import torch
from conftest import make_tokenizer

from cdesearch.progress import Silent
from trainer import parcel
from trainer.bundle import main
from trainer.data.material import prepare_material
from trainer.recipe import load_recipe
from trainer.starting import starting_model

TOPICS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone"]
LEAK = "the cat sat by the river and looked at the moon while bread burned in the engine room of a boat"


@pytest.fixture
def recipe_file(tmp_path, tiny_checkpoint):
    random = np.random.default_rng(0)
    for name in ("first", "second"):
        texts = [f"{number} " + " ".join(random.choice(TOPICS, size=6)) for number in range(90)]
        rows = [{"query": text[:9], "document": text, "group": "ab"[number % 2]} for number, text in enumerate(texts)]
        rows.append({"query": "what did it look at", "document": LEAK, "group": "a"})
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, [*rows, rows[0]])))
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "corpus.jsonl").write_text(json.dumps({"_id": "1", "text": LEAK}))
    (tmp_path / "eval" / "queries.jsonl").write_text(json.dumps({"_id": "1", "text": "?"}))
    (tmp_path / "recipe.toml").write_text(
        f"""
        [data]
        pairs = ["{tmp_path}/first.jsonl", "{tmp_path}/second.jsonl"]
        keep_out = ["{tmp_path}/eval"]
        cap = 40
        held_out = 0.25
        [data.groups]
        first = "a"
        [model]
        start = "{tiny_checkpoint}"
        [batches]
        size = 6
        [run]
        out = "{tmp_path}/out"
        """
    )
    return tmp_path / "recipe.toml"


def batches_of(recipe):
    material = prepare_material(recipe, starting_model(recipe.model), make_tokenizer(), Silent())
    return [material.stream.batch(step) for step in range(material.stream.steps_per_epoch)] + material.held_out


def test_training_on_a_bundle_makes_the_same_batches(recipe_file, tmp_path, capsys):
    expected = batches_of(load_recipe(recipe_file, {"run.out": str(tmp_path / "first run")}))
    assert main([str(recipe_file), str(tmp_path / "bundle")]) == 0
    joining, command = (line.replace("'", "").split() for line in capsys.readouterr().out.splitlines()[-2:])
    assert parcel.main(joining[3:]) == 0
    overrides = dict(word.removeprefix("--set=").split("=", 1) for word in command if word.startswith("--set="))
    for file in tmp_path.glob("*.jsonl"):
        file.unlink()
    bundled = load_recipe(recipe_file, overrides | {"run.out": str(tmp_path / "elsewhere")})
    for one, other in zip(batches_of(bundled), expected, strict=True):
        for name in ("queries", "documents"):
            torch.testing.assert_close(getattr(one, name).ids, getattr(other, name).ids, rtol=0, atol=0)
        assert torch.equal(one.excluded, other.excluded) and torch.equal(one.context, other.context)


def test_a_bundle_has_no_leaks_duplicates_or_other_groups(recipe_file, tmp_path):
    assert main([str(recipe_file), str(tmp_path / "bundle"), "--set=data.cap=1000"]) == 0
    rows = {
        file.name.split(".")[0]: list(map(json.loads, gzip.decompress(file.read_bytes()).splitlines()))
        for file in (tmp_path / "bundle").glob("*.gz")
    }
    assert {name: len(found) for name, found in rows.items()} == {"first": 45, "second": 90}
    assert not any(row["document"] == LEAK for found in rows.values() for row in found)


def test_one_domain_is_counted_in_the_singular(recipe_file, tmp_path, capsys):
    assert main([str(recipe_file), str(tmp_path / "bundle"), f'--set=data.pairs=["{tmp_path}/first.jsonl"]']) == 0
    assert "The pairs of 1 domain and the models, " in capsys.readouterr().out


def test_long_files_are_split_and_joined_on_the_other_machine(recipe_file, tmp_path, monkeypatch, tiny_checkpoint):
    monkeypatch.setattr("trainer.bundle.PART", 400)
    monkeypatch.setattr("trainer.run.parts.PART", 400)
    bundle = tmp_path / "bundle"
    assert main([str(recipe_file), str(bundle), f"--set=run.surrogate={tiny_checkpoint}"]) == 0
    assert max(file.stat().st_size for file in (bundle / "start").iterdir() if "-" in file.name) == 400
    assert len(list((bundle / "start").glob("model.safetensors.*"))) > 9 and list(bundle.glob("first.jsonl.gz.*"))
    assert parcel.main(["join", str(bundle)]) == 0
    for folder in ("start", "surrogate"):
        for name in ("config.json", "tokenizer.json", "model.safetensors"):
            assert (bundle / folder / name).read_bytes() == (tiny_checkpoint / name).read_bytes()
    assert (bundle / "surrogate" / "onnx" / "second_stage.onnx").is_file()
    assert gzip.decompress((bundle / "first.jsonl.gz").read_bytes()) and not list(bundle.rglob("*.*-0"))


@pytest.mark.slow
@pytest.mark.parametrize("copied", [0, 1])
def test_a_bundle_that_is_stopped_while_models_are_copied_can_be_made_by_the_same_command(
    recipe_file, tmp_path, monkeypatch, tiny_checkpoint, copied
):
    monkeypatch.setattr("trainer.bundle.PART", 400)
    monkeypatch.setattr("trainer.run.parts.PART", 400)
    command = [str(recipe_file), str(tmp_path / "bundle"), f"--set=run.surrogate={tiny_checkpoint}"]

    def stopped(model, target, files, n_calls=[0]):  # noqa: B006 (it counts the calls)
        if n_calls[0] == copied:
            raise KeyboardInterrupt
        n_calls[0] += 1
        parcel.split(model, target, files)

    with monkeypatch.context() as patch:
        patch.setattr("trainer.bundle.split", stopped)
        assert main(command) == 130
    assert not list((tmp_path / "bundle").iterdir())
    assert main(command) == 0


def test_a_bundle_does_not_replace_the_models_of_another_one(recipe_file, tmp_path, capsys):
    (tmp_path / "bundle" / "start").mkdir(parents=True)
    assert main([str(recipe_file), str(tmp_path / "bundle")]) == 2
    assert "start exists. Name a new or empty folder." in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "bundle").iterdir()] == ["start"]
