import json
from pathlib import Path

import numpy as np
import pytest
import torch
from random_biencoder import biencoder_folder
from random_texts import masking_tokenizer, recipe_of
from safetensors.torch import load_file

import trainer
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError, ModelError
from cdesearch.models.contextual.model import load_checkpoint
from cdesearch.progress import Silent
from trainer.pretraining.condenser import HEAD
from trainer.pretraining.pretrain import pretrain
from trainer.pretraining.recipe import load_pretraining_recipe
from trainer.run.folder import read_log

KINDS = ["condenser", "cocondenser", "diffusion"]


def recipe_for(kind, folder, start, **changes):
    if kind == "diffusion":
        file = start / "tokenizer.json"
        return recipe_of(folder, None, objective__kind=kind, network__tokenizer=file, **changes)
    return recipe_of(folder, start, objective__kind=kind, **changes)


def tensors(folder):
    return load_file(folder / "model.safetensors")


@pytest.mark.parametrize("kind", ["condenser", pytest.param("cocondenser", marks=pytest.mark.slow), "diffusion"])
def test_the_held_out_loss_falls_and_the_checkpoint_is_complete(kind, tmp_path, start):
    changes = {"learning__steps": 60, "learning__rate": 1e-2, "run__watch_every": 60}
    recipe = recipe_for(kind, tmp_path, start, **changes)
    folder = pretrain(recipe, Silent())
    before, after = [sum(row["held_out"].values()) for row in read_log(recipe.run.out) if "held_out" in row]
    assert after < 0.9 * before
    assert {file.name for file in folder.iterdir()} >= {"config.json", "model.safetensors", "tokenizer.json"}
    assert (recipe.run.out / HEAD).exists() is (kind in ("condenser", "cocondenser"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_was_stopped_continues_to_the_same_weights(kind, tmp_path, start):
    whole = pretrain(recipe_for(kind, tmp_path / "whole", start), Silent())
    recipe = recipe_for(kind, tmp_path / "parts", start)
    with pytest.raises(KeyboardInterrupt):
        pretrain(recipe, StopAfter(2))
    with pytest.raises(InputError, match="holds an earlier run"):
        pretrain(recipe, Silent())
    resumed = pretrain(recipe, Silent(), resume=True)
    for name, tensor in tensors(whole).items():
        torch.testing.assert_close(tensors(resumed)[name], tensor, msg=name)
    assert [row["step"] for row in read_log(recipe.run.out) if "loss" in row] == [1, 2, 3, 4, 5, 6]


class StopAfter(Silent):
    """A display that interrupts pretraining, as Ctrl-C does, when a number of steps is taken."""

    def __init__(self, n):
        self._left = n

    def stage(self, name, total):
        def advance(n):
            if name == "Training":
                self._left -= n
                if not self._left:
                    raise KeyboardInterrupt

        return advance


@pytest.mark.slow
def test_cocondenser_continues_with_the_checkpoint_and_the_head_of_condenser(tmp_path, start):
    first = recipe_for("condenser", tmp_path / "first", start)
    folder = pretrain(first, Silent())
    second = recipe_of(tmp_path / "second", folder, model__head=first.run.out / HEAD, learning__steps=1)
    pretrain(second, Silent())
    last = [row["head"] for row in read_log(first.run.out) if "loss" in row][-1]
    begun = next(row["head"] for row in read_log(second.run.out) if "loss" in row)
    fresh = recipe_of(tmp_path / "fresh", folder, learning__steps=1)
    pretrain(fresh, Silent())
    anew = next(row["head"] for row in read_log(fresh.run.out) if "loss" in row)
    assert abs(begun - last) < 0.7 * abs(anew - last)


def test_in_the_head_warmup_the_network_stays_as_it_was(tmp_path, start):
    recipe = recipe_of(tmp_path, start, learning__steps=3, learning__head_warmup=3)
    folder = pretrain(recipe, Silent())
    before = load_checkpoint(start).state_dict()
    assert all(torch.equal(tensor, before[name]) for name, tensor in load_checkpoint(folder).state_dict().items())
    assert len({row["head"] for row in read_log(recipe.run.out) if "loss" in row}) == 3


def test_only_the_backbone_of_a_checkpoint_changes_and_it_still_embeds(tmp_path, start):
    folder = pretrain(recipe_of(tmp_path, start), Silent())
    before, after = load_checkpoint(start).state_dict(), load_checkpoint(folder).state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed and all(name.startswith("second_stage.backbone.") for name in changed)
    assert np.isfinite(load_encoder(folder).encode(["the cat"], "query", None)).all()


def test_a_published_bert_is_a_start(tmp_path):
    biencoder_folder(tmp_path / "bert")
    masking_tokenizer().save(str(tmp_path / "bert" / "tokenizer.json"))
    folder = pretrain(recipe_of(tmp_path, tmp_path / "bert", learning__steps=1), Silent())
    assert load_checkpoint(folder).config.backbone.dimension == 32


def test_diffusion_continues_with_a_network_of_qwen3_and_its_checkpoint_embeds_as_pplx(tmp_path, start):
    causal = pretrain(recipe_for("diffusion", tmp_path / "causal", start), Silent())
    config = causal / "config.json"
    config.write_text(config.read_text().replace("bidirectional_pplx_qwen3", "qwen3"))
    recipe = recipe_of(tmp_path / "diffusion", causal, objective__kind="diffusion", learning__steps=1)
    folder = pretrain(recipe, Silent())
    shift = max((tensors(folder)[name] - tensor).abs().max() for name, tensor in tensors(causal).items())
    assert 0 < shift < 0.02, "one step from its weights"
    assert json.loads((folder / "config.json").read_text())["model_type"] == "bidirectional_pplx_qwen3"
    vectors = load_encoder(folder, plain=True).encode(["the cat", "a dog in water"], "document", None)
    assert vectors.shape == (2, 32) and np.isfinite(vectors).all() and vectors.any(1).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objective__kind": "condenser"}, "needs model.start"),
        ({"objective__kind": "diffusion"}, "needs network.tokenizer"),
        ({"objective__kind": "diffusion", "network__tokenizer": "t", "network__n_heads": 3}, "is no multiple"),
        ({"objective__kind": "electra"}, r"objective\.kind: Invalid enum value 'electra'"),
        ({"objective__knd": "diffusion"}, "did you mean kind"),
        ({"network__n_layers": 1_000_000}, r"network\.n_layers: Expected `int` <= 128"),
    ],
)
def test_a_recipe_that_cannot_run_is_refused_in_one_line(tmp_path, changes, message):
    with pytest.raises(InputError, match=message) as raised:
        recipe_of(tmp_path, **changes)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning__max_tokens": 129}, "128 positions"),
        ({"run__out": "START/.."}, "the run would overwrite"),
        ({"model__start": "START/none"}, r"none.tokenizer.json cannot be read"),
        ({"objective__kind": "diffusion"}, "lacks vocab_size"),
        ({"model__head": "START/none"}, "is not the head of this model"),
        ({"texts__held_out": 1}, r"held_out is 1, which leaves no document"),
        ({"texts__held_out": 0.98}, r"two documents to train on"),
    ],
)
def test_a_start_or_texts_that_do_not_fit_are_refused(tmp_path, start, changes, message):
    changes = {name: str(value).replace("START", str(start)) for name, value in changes.items()}
    with pytest.raises((InputError, ModelError), match=message):
        pretrain(recipe_of(tmp_path, start, **changes), Silent())


def test_the_recipes_that_are_shipped_are_valid():
    folder = Path(trainer.__file__).parent / "recipes" / "pretraining"
    kinds = {load_pretraining_recipe(file).objective.kind for file in folder.glob("*.toml")}
    assert kinds == {"condenser", "cocondenser", "diffusion"}
