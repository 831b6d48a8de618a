import json
from dataclasses import replace

import pytest
from conftest import TINY

from cdesearch.models.checkpoint_files import DEFAULT_MODEL
from cdesearch.models.config import ModelConfig
from cdesearch.models.contextual.model import load_checkpoint


def test_the_default_model_keeps_its_configuration_and_with_it_its_fingerprint(tmp_path):
    config = ModelConfig.load(DEFAULT_MODEL)
    config.save(tmp_path)
    assert (tmp_path / "config.json").read_bytes() == (DEFAULT_MODEL / "config.json").read_bytes()
    eps = load_checkpoint(DEFAULT_MODEL).second_stage.context_norm.eps
    assert eps == config.backbone.norm_eps == 1e-12


@pytest.mark.parametrize(
    "changes",
    [
        {"context_norm_eps": 1e-5},
        {"context_sink": True},
        {"window_tokens": 128},
        {},
    ],
)
def test_a_configuration_is_loaded_as_it_was_saved(tmp_path, changes):
    config = replace(TINY, **changes)
    config.save(tmp_path)
    assert ModelConfig.load(tmp_path) == config
    assert set(changes) <= json.loads((tmp_path / "config.json").read_text()).keys()
