import pytest
from torch import nn

from trainer.execution import evaluation_mode


def test_every_module_returns_to_the_mode_that_it_was_in_even_after_an_error():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Dropout(0.5), nn.Linear(2, 2)))
    model[1][0].eval()
    before = [module.training for module in model.modules()]
    assert True in before and False in before
    with pytest.raises(KeyError), evaluation_mode(model):
        assert not any(module.training for module in model.modules())
        raise KeyError
    assert [module.training for module in model.modules()] == before
