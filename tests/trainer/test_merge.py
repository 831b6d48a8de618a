import pytest
import torch

from cdesearch.errors import InputError, ModelError
from cdesearch.models.contextual.model import load_checkpoint
from trainer.merge import merge


def test_the_mean_of_two_checkpoints_is_theirs_weight_by_weight(tiny_checkpoint, closed_checkpoint, tmp_path):
    from tests.conftest import make_model
    from trainer.export import export

    export(make_model(seed=1), tiny_checkpoint / "tokenizer.json", tmp_path / "other")
    merged = merge({tiny_checkpoint: 3, tmp_path / "other": 1})
    one, other = load_checkpoint(tiny_checkpoint).state_dict(), load_checkpoint(tmp_path / "other").state_dict()
    for name, tensor in merged.state_dict().items():
        torch.testing.assert_close(tensor, 0.75 * one[name] + 0.25 * other[name])
    assert merged.config.statistics == load_checkpoint(tiny_checkpoint).config.statistics
    with pytest.raises(ModelError, match="other shapes"):
        merge({tiny_checkpoint: 1, closed_checkpoint: 1})
    with pytest.raises(InputError, match="negative"):
        merge({tiny_checkpoint: 1, tmp_path / "other": -1})
