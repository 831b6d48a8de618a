import numpy as np
import pytest

from cdesearch.context.features import OCTAVES, corpus_features
from cdesearch.models.config import CORPUS_FEATURES


def test_the_features_of_a_corpus_are_its_mean_spectrum_and_rarity():
    random = np.random.default_rng(0)
    vectors = random.normal(size=(200, 8)) * [9, 3, 1, 1, 1, 1, 1, 1] + 2
    counts = np.zeros(50, np.int64)
    counts[:4] = [200, 100, 2, 1]
    features = corpus_features(vectors.astype(np.float32), counts)
    assert features.shape == (8 + CORPUS_FEATURES,)
    points = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(features[:8], points.mean(0) * 8**0.5, rtol=1e-5)
    eigenvalues = np.linalg.eigvalsh(np.cov(points, rowvar=False, bias=True))[::-1]
    shares = [eigenvalues[:1].sum(), eigenvalues[1:2].sum(), eigenvalues[2:4].sum(), eigenvalues[4:8].sum()]
    np.testing.assert_allclose(features[8], np.log(eigenvalues.sum()), rtol=1e-5)
    np.testing.assert_allclose(features[9:13], np.log(shares / eigenvalues.sum()), rtol=1e-4)
    assert features[9 + OCTAVES :].tolist() == sorted(features[9 + OCTAVES :]), "quantiles"
    assert 0 <= features[-5] < features[-1] <= 1


@pytest.mark.parametrize("n", [1, 2])
def test_a_corpus_of_one_or_two_texts_has_features_too(n):
    features = corpus_features(np.ones((n, 4), np.float32), np.zeros(9, np.int64))
    assert np.isfinite(features).all()
