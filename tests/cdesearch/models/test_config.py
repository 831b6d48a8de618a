import json
from dataclasses import replace

import pytest
from conftest import TINY, make_model

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
        {"context_attention": "one_softmax", "log_gates": True},
        {"context_source": "tokens", "context_tokens": 3, "first_stage": "shared"},
        {"context_source": "statistics", "first_stage": "shared"},
        {"first_stage_layers": 1},
        {"context_source": "siblings", "context_sink": True, "first_stage": "shared"},
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
    ("name", "value"),
    [
        ("context_norm_eps", "x"),
        ("context_norm_eps", True),
        ("context_sink", 1),
        ("log_gates", None),
        ("context_source", "none"),
        ("context_tokens", 0),
        ("window_tokens", -1),
        ("window_tokens", 64.5),
        ("window_positions", "none"),
    ],
)
def test_an_optional_field_of_another_type_is_refused(tmp_path, name, value):
    TINY.save(tmp_path)
    values = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**values, name: value}))
    with pytest.raises(ModelError, match=f"{name} = .* out of range"):
        ModelConfig.load(tmp_path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"window_tokens": 129}, "above its 128 positions"),
        ({"window_tokens": 64, "context_attention": "joint"}, "no joint attention"),
        (
            {"window_tokens": 64, "context_source": "tokens", "first_stage": "shared"},
            "needs the context source pooled",
        ),
    ],
)
def test_windows_that_the_network_cannot_read_are_refused(tmp_path, changes, reason):
    replace(TINY, **changes).save(tmp_path)
    with pytest.raises(ModelError, match=reason):
        ModelConfig.load(tmp_path)


def test_the_context_norm_has_the_eps_of_the_configuration():
    own = make_model(replace(TINY, context_norm_eps=1e-5)).second_stage.context_norm
    assert own.eps == 1e-5
    backbones = replace(TINY.backbone, norm_eps=1e-7)
    assert make_model(replace(TINY, backbone=backbones)).second_stage.context_norm.eps == 1e-7


@pytest.mark.parametrize("changes", [{"first_stage": "own"}, {"first_stage": "shared", "context_attention": "joint"}])
def test_a_context_of_tokens_needs_cached_attention_and_a_shared_first_stage(tmp_path, changes):
    replace(TINY, context_source="tokens", **changes).save(tmp_path)
    with pytest.raises(ModelError, match="context source tokens, which needs cached context attention and a shared"):
        ModelConfig.load(tmp_path)


def test_a_context_of_siblings_needs_a_sink(tmp_path):
    replace(TINY, context_source="siblings", first_stage="shared").save(tmp_path)
    with pytest.raises(ModelError, match="has no context_sink, which the context source siblings needs"):
        ModelConfig.load(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"first_stage_layers": 3}, "first_stage_layers = 3, above n_layers"),
        (
            {"first_stage_layers": 1, "context_source": "statistics", "first_stage": "shared"},
            "which only .* pooled has",
        ),
    ],
)
def test_a_first_stage_of_impossible_depth_is_refused(tmp_path, changes, message):
    replace(TINY, **changes).save(tmp_path)
    with pytest.raises(ModelError, match=message):
        ModelConfig.load(tmp_path)


@pytest.mark.parametrize("changes", [{"context_attention": "joint", "context_sink": True}, {"log_gates": True}])
def test_an_option_of_another_kind_of_attention_is_refused(tmp_path, changes):
    replace(TINY, **changes).save(tmp_path)
    with pytest.raises(ModelError, match="context attention has"):
        ModelConfig.load(tmp_path)
