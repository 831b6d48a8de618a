import numpy as np
from small_corpus import TEXTS, context_of

from cdesearch.encode.load import load_encoder


def test_a_joint_model_runs_on_torch(joint_checkpoint):
    encoder = load_encoder(joint_checkpoint)
    vectors = encoder.encode(TEXTS, "document", context_of(encoder))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.abs(vectors - encoder.encode(TEXTS, "document", None)).max() > 1e-3
