import json
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from conftest import TINY

from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import DEFAULT_MODEL
from cdesearch.models.config import ModelConfig
from cdesearch.models.contextual.model import load_checkpoint


def test_the_default_model_keeps_its_configuration_and_with_it_its_fingerprint(tmp_path):
    config = ModelConfig.load(DEFAULT_MODEL)
    config.save(tmp_path)
    assert (tmp_path / "config.json").read_bytes() == (DEFAULT_MODEL / "config.json").read_bytes()
    eps = load_checkpoint(DEFAULT_MODEL).second_stage.context_norm.eps
    assert eps == config.backbone.norm_eps == 1e-12


@pytest.mark.parametrize("changes", [{"context_norm_eps": 1e-5}, {"context_sink": True}, {"window_tokens": 128}, {}])
def test_a_configuration_is_loaded_as_it_was_saved(tmp_path, changes):
    config = replace(TINY, **changes)
    config.save(tmp_path)
    assert ModelConfig.load(tmp_path) == config
    assert set(changes) <= json.loads((tmp_path / "config.json").read_text()).keys()


ROOT = Path(__file__).parents[3]


def project(folder):
    return tomllib.loads((folder / "pyproject.toml").read_text())


def test_a_checkpoint_without_weights_takes_those_of_the_package(tiny_checkpoint, tmp_path, monkeypatch):
    folder, package = tmp_path / "model", tmp_path / "site" / "cdesearch_weights"
    shutil.copytree(tiny_checkpoint, folder)
    package.mkdir(parents=True)
    weights = package / f"{ModelConfig.load(folder).weights_hash}.safetensors"
    (folder / "model.safetensors").rename(weights)
    monkeypatch.syspath_prepend(package.parent)
    loaded, expected = load_checkpoint(folder).state_dict(), load_checkpoint(tiny_checkpoint).state_dict()
    assert loaded.keys() == expected.keys()
    assert all(torch.equal(loaded[name], expected[name]) for name in expected)
    weights.rename(package / "of-another-model.safetensors")
    with pytest.raises(ModelError, match=r"no model\.safetensors"):
        load_checkpoint(folder)


def test_the_package_has_the_weights_of_the_default_model_and_the_extra_asks_for_it():
    package = project(ROOT / "weights")
    ((source, target),) = [
        one
        for one in package["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"].items()
        if one[0].endswith(".safetensors")
    ]
    assert (ROOT / "weights" / source).resolve() == DEFAULT_MODEL / "model.safetensors"
    assert target == f"cdesearch_weights/{ModelConfig.load(DEFAULT_MODEL).weights_hash}.safetensors"
    torch_extra = project(ROOT)["project"]["optional-dependencies"]["torch"]
    assert f"{package['project']['name']}=={package['project']['version']}" in torch_extra
