import numpy as np
import pytest
import torch

from cdesearch.encode.load import load_encoder
from trainer.data import surrogate_model
from trainer.data.surrogate_model import open_surrogate

TEXTS = ["the cat", "a dog in the water", "moon"]


@pytest.fixture
def devices(monkeypatch):
    """Records the devices of surrogates on torch; without a GPU, one exists by name only."""
    found, runtime = [], surrogate_model.TorchRuntime
    cpu = torch.device("cpu")
    monkeypatch.setattr(surrogate_model, "TorchRuntime", lambda net, device: found.append(device) or runtime(net, cpu))
    return found


def test_on_a_cpu_the_surrogate_runs_on_onnx_if_that_is_installed(tiny_checkpoint, devices):
    assert type(open_surrogate(tiny_checkpoint, torch.device("cpu"))._runtime).__name__ == "OnnxRuntime"
    assert not devices


@pytest.mark.parametrize(("device", "installed"), [("cpu", False), ("cuda", True), ("cuda", False)])
def test_otherwise_the_surrogate_runs_on_torch_with_the_same_vectors_and_fingerprint(
    tiny_checkpoint, devices, monkeypatch, device, installed
):
    expected = load_encoder(tiny_checkpoint)
    monkeypatch.setattr(surrogate_model, "find_spec", lambda name: installed or None)
    found = open_surrogate(tiny_checkpoint, torch.device(device))
    assert devices == [torch.device(device)] and type(found._runtime).__name__ == "TorchRuntime"
    assert found.fingerprint == expected.fingerprint
    for role in ("query", "document"):
        np.testing.assert_allclose(found.encode(TEXTS, role, None), expected.encode(TEXTS, role, None), atol=1e-5)
