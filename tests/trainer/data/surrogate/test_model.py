from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import TINY, make_model

from cdesearch.encode.backends import torch as torch_runtime
from trainer.data import surrogate as surrogate_model
from trainer.data.surrogate import open_surrogate, surrogate_vectors
from trainer.export import export

TEXTS = ["the cat", "a dog in the water", "moon"]


@pytest.fixture
def devices(monkeypatch):
    """Records the devices of surrogates on torch; without a GPU, one exists by name only."""
    found, runtime = [], torch_runtime.TorchRuntime
    cpu = torch.device("cpu")
    monkeypatch.setattr(torch_runtime, "TorchRuntime", lambda net, device: found.append(device) or runtime(net, cpu))
    return found


def test_on_a_cpu_the_surrogate_runs_on_onnx_if_that_is_installed(tiny_checkpoint, devices):
    assert type(open_surrogate(tiny_checkpoint, torch.device("cpu"))._runtime).__name__ == "OnnxRuntime"
    assert not devices


@pytest.mark.parametrize(("device", "installed"), [("cpu", False), ("cuda", True), ("cuda", False)])
def test_otherwise_the_surrogate_runs_on_torch_with_the_same_vectors_and_fingerprint(
    tiny_checkpoint, devices, monkeypatch, device, installed
):
    expected = open_surrogate(tiny_checkpoint, torch.device("cpu"))
    monkeypatch.setattr(surrogate_model, "find_spec", lambda name: installed or None)
    found = open_surrogate(tiny_checkpoint, torch.device(device))
    assert type(expected._runtime).__name__ == "OnnxRuntime"
    assert devices == [torch.device(device)] and type(found._runtime).__name__ == "TorchRuntime"
    assert found.fingerprint == expected.fingerprint
    for role in ("query", "document"):
        np.testing.assert_allclose(found.encode(TEXTS, role, None), expected.encode(TEXTS, role, None), atol=1e-5)


def test_exports_of_one_model_in_two_precisions_have_stored_vectors_of_their_own(tmp_path, tiny_tokenizer):
    tiny_tokenizer.save(str(tmp_path / "tokenizer.json"))
    model = make_model(replace(TINY, first_stage="shared"), gate=0.0)
    exact, quantised = tmp_path / "fp32", tmp_path / "int8"
    for folder in (exact, quantised):
        export(model, tmp_path / "tokenizer.json", folder, folder.name)
    for folder in (exact, quantised):
        encoder = open_surrogate(folder, torch.device("cpu"))
        found = surrogate_vectors("pairs", TEXTS, "document", encoder, tmp_path / "work", lambda _: None)
        np.testing.assert_array_equal(found, encoder.encode(TEXTS, "document", None))


def test_texts_that_are_divided_elsewhere_have_stored_vectors_of_their_own(tmp_path, tiny_encoder):
    for texts in (["the cat", "and a dog"], ["the ca", "tand a dog"], ["the catand a", " dog"]):
        found = surrogate_vectors("pairs", texts, "document", tiny_encoder, tmp_path, lambda _: None)
        np.testing.assert_array_equal(found, tiny_encoder.encode(texts, "document", None))
