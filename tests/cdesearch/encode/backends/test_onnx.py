import shutil

import numpy as np
import pytest
from small_corpus import TEXTS, context_of

from cdesearch.encode.load import load_encoder


@pytest.mark.parametrize("name", ["tiny_checkpoint", "sink_checkpoint", "closed_checkpoint"])
def test_onnx_and_torch_give_the_same_vectors(name, request, tmp_path):
    folder = request.getfixturevalue(name)
    plain = tmp_path / "plain"
    shutil.copytree(folder, plain, ignore=shutil.ignore_patterns("onnx"))
    onnx, torch = load_encoder(folder), load_encoder(plain, "cpu")
    assert type(onnx._runtime).__name__ == "OnnxRuntime" and type(torch._runtime).__name__ == "TorchRuntime"
    assert onnx.fingerprint == torch.fingerprint
    on_onnx, on_torch = context_of(onnx), context_of(torch)
    np.testing.assert_allclose(onnx.first_stage(TEXTS), torch.first_stage(TEXTS), atol=1e-4)
    np.testing.assert_allclose(on_onnx.whitening.projection, on_torch.whitening.projection, atol=1e-3)
    for context in (on_onnx, None):
        np.testing.assert_allclose(
            onnx.encode(TEXTS, "query", context), torch.encode(TEXTS, "query", context), atol=1e-4
        )
        tokens = zip(*(encoder.encode_queries(TEXTS, context)[1] for encoder in (onnx, torch)), strict=True)
        for one, other in tokens:
            np.testing.assert_allclose(one.projections, other.projections, atol=1e-4)


def test_a_joint_model_runs_on_torch(joint_checkpoint):
    encoder = load_encoder(joint_checkpoint)
    vectors = encoder.encode(TEXTS, "document", context_of(encoder))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.abs(vectors - encoder.encode(TEXTS, "document", None)).max() > 1e-3
