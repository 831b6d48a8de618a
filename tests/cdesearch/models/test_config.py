import json
from dataclasses import replace

import pytest
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


@pytest.mark.parametrize(
    "changes",
    [
        {"context_norm_eps": 1e-5},
        {"context_sink": True},
        {"window_tokens": 128},
        {"window_tokens": 500, "window_positions": "restarted"},
        {},
    ],
)
def test_a_configuration_is_loaded_as_it_was_saved(tmp_path, changes):
    config = replace(TINY, **changes)
    config.save(tmp_path)
    assert ModelConfig.load(tmp_path) == config
    assert set(changes) <= json.loads((tmp_path / "config.json").read_text()).keys()


@pytest.mark.parametrize(
    ("name", "value"), [("context_sink", 1), ("window_tokens", 64.5), ("window_positions", "none")]
)
def test_an_optional_field_of_another_type_is_refused(tmp_path, name, value):
    TINY.save(tmp_path)
    values = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**values, name: value}))
    with pytest.raises(ModelError, match=f"out of range .*{name}"):
        ModelConfig.load(tmp_path)


def test_windows_of_more_tokens_than_there_are_positions_are_refused(tmp_path):
    replace(TINY, window_tokens=129).save(tmp_path)
    with pytest.raises(ModelError, match="windows of 129 tokens, and 128 positions"):
        ModelConfig.load(tmp_path)
