"""Random checkpoints under the published names: real shapes on the meta device, small ones for values."""

import json

import numpy as np
import numpy_released
import pytest
import torch
from random_released import (
    PUBLISHED_MODERN,
    PUBLISHED_NOMIC,
    SHAPES,
    VARIANTS,
    D,
    backbone_of,
    config_of,
    published_shapes,
    random_state,
)
from safetensors.torch import save_file

from cdesearch.errors import ModelError
from cdesearch.models.backbones.joint import text_states, through
from cdesearch.models.released.model import load_released, open_released


def make(variant, **changes):
    return load_released(config_of(variant, **changes), random_state(variant), SHAPES[variant])


def texts(n_texts=3, length=30):
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(30, 1000, (n_texts, length), generator=generator)
    mask = torch.ones_like(ids)
    mask[0, 5:] = 0
    mask[1:2, 20:] = 0
    return ids * mask, mask


def pooled(model, rows, is_null=None):
    """The vectors (B, d) of the texts in a context (J, d)."""
    is_null = torch.zeros(len(rows), dtype=torch.bool) if is_null is None else is_null
    ids, mask = texts()
    return model.pooled(ids, mask, mask, model.prepare_context(rows, is_null, None))[0]


def context(size=12):
    return torch.randn(size, D, generator=torch.Generator().manual_seed(2))


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.no_grad():
        yield


def close(found, wanted, atol=1e-5):
    torch.testing.assert_close(found, wanted, atol=atol, rtol=0)


@pytest.mark.parametrize(
    ("variant", "fields", "millions", "within"),
    [("v1", PUBLISHED_NOMIC, 281.1, 0.05), ("v2", PUBLISHED_MODERN, 306, 0.5)],
)
def test_the_published_checkpoints_load_without_a_config_of_the_backbone(variant, fields, millions, within):
    shapes = published_shapes(variant, fields)
    assert sum(np.prod(shape) for shape in shapes.values()) / 1e6 == pytest.approx(millions, abs=within)
    state = {name: torch.empty(shape, device="meta") for name, shape in shapes.items()}
    model = load_released(config_of(variant, transductive_corpus_size=512), state)
    assert set(model.state_dict()) == set(shapes)
    assert model.second_stage_model.soft_prompts.shape == (8, 768)


@pytest.mark.parametrize("skips", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_both_stages_agree_with_a_second_implementation_in_numpy(variant, skips):
    config = config_of(variant, pool_ignore_instruction_tokens=skips)
    state, backbone = random_state(variant), backbone_of(variant)
    model = load_released(config, state, SHAPES[variant])
    ids, mask = texts()
    colon = 27 if variant == "v2" else 1024
    ids[:, 0] = colon  # at index 0 it ends no instruction
    ids[1:, 4] = colon
    ids[2, 9] = colon
    given = [np.asarray(row[kept.bool()]) for row, kept in zip(ids, mask, strict=True)]
    wanted = [numpy_released.first_stage(config, state, backbone, variant, text) for text in given]
    close(model.first_stage(ids, mask).double(), torch.tensor(np.stack(wanted)))
    rows = context(15)  # three too many
    wanted = [numpy_released.second_stage(config, state, backbone, variant, text, rows) for text in given]
    prefix = model.prepare_context(rows, torch.zeros(15, dtype=torch.bool), None)
    close(model.pooled(ids, mask, mask, prefix)[0].double(), torch.tensor(np.stack(wanted)))


@pytest.mark.parametrize("n_layers", [1, 2, None])
@pytest.mark.parametrize("variant", VARIANTS)
def test_computing_the_prefix_once_does_not_change_the_vectors(variant, n_layers):
    beyond = tuple(f".layers.{layer}." for layer in range(n_layers or 99, 99))
    kept = {name: tensor for name, tensor in random_state(variant).items() if not any(map(name.count, beyond))}
    config = config_of(variant, limit_layers=n_layers, limit_layers_first_stage=n_layers)
    model = load_released(config, kept, SHAPES[variant])
    stage, (ids, mask), rows = model.second_stage_model, texts(), context()
    before = torch.cat([rows, stage.soft_prompts]).expand(len(ids), -1, -1)
    entered = stage.backbone.enter(torch.cat([before, stage.backbone.embed(ids)], dim=1))
    steps = stage.steps(torch.cat([mask.new_ones(len(ids), 20), mask], dim=1))
    plain = through(steps, entered)[:, 20:]
    close(
        text_states(stage.context_prefix(rows), stage.backbone.enter(stage.backbone.embed(ids)), steps)[mask > 0],
        plain[mask > 0],
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_context_is_the_null_embedding_in_every_slot(variant):
    state = random_state(variant)
    model = load_released(config_of(variant), state, SHAPES[variant])
    nulls = state["second_stage_model.sequence_dropout_null_embedding"].repeat(12, 1)
    close(pooled(model, context(1), torch.ones(1, dtype=torch.bool)), pooled(model, nulls))


def test_half_precision_weights_become_fp32_and_are_the_models_own():
    state = {name: tensor.half() for name, tensor in random_state("v2").items()}
    model = load_released(config_of("v2"), state, SHAPES["v2"])
    before = model.first_stage(*texts())
    for tensor in state.values():
        tensor.zero_()
    close(model.first_stage(*texts()), before, atol=0)
    assert before.dtype == torch.float32


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"pooling_strategy": "last_token"}, "pooling_strategy = 'last_token'"),
        ({"transductive_tokens_per_document": 4}, "transductive_tokens_per_document = 4"),
        ({"transductive_corpus_size": "many"}, "transductive_corpus_size is 'many'"),
        ({"embedder": "answerdotai/ModernBERT-base"}, "embedder is 'answerdotai/ModernBERT-base'"),
    ],
)
def test_fields_of_the_checkpoint_that_are_not_supported_are_named(changes, named):
    with pytest.raises(ModelError) as caught:
        make("v1", **changes)
    assert named in str(caught.value) and "\n" not in str(caught.value)


def test_weights_that_are_missing_unknown_or_of_another_shape_are_named():
    def message(change):
        state = random_state("v1")
        change(state)
        with pytest.raises(ModelError) as caught:
            load_released(config_of("v1"), state, SHAPES["v1"])
        return str(caught.value)

    name = "second_stage_model.output_projection.2.bias"
    assert f"config: {name}." in message(lambda state: state.pop(name))
    assert "config: pooler.weight." in message(lambda state: state.update({"pooler.weight": torch.ones(1)}))
    assert f"config: {name}." in message(lambda state: state.update({name: torch.ones(3)}))
    assert "and 1 more" in message(lambda state: [state.pop(key) for key in list(state)[:6]])


def write(folder, variant="v1", **changes):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config_of(variant, **changes)))
    save_file(random_state(variant), folder / "model.safetensors")
    return folder


def test_errors_of_bad_folders_are_one_line(tmp_path):
    def message(folder):
        with pytest.raises(ModelError) as caught:
            open_released(folder)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "no model.safetensors" in message(tmp_path)
    good = write(tmp_path / "good")
    weights = (good / "model.safetensors").read_bytes()
    for half in (b"", weights[:-1]):
        (good / "model.safetensors").write_bytes(half)
        assert "is incomplete" in message(good)
    (good / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    assert "git lfs pull" in message(good)
    (good / "model.safetensors").unlink()
    assert "no model.safetensors" in message(good)
    (good / "config.json").write_text('{"backbone": {}')
    assert "cannot be read" in message(good)
    assert "not one NomicBERT or ModernBERT" in message(
        write(tmp_path / "t5", embedder="gtr-base", dataset_backbone=None)
    )
