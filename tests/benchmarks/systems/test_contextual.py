from dataclasses import replace

import numpy as np
import pytest
from beir_folder import write_set

from benchmarks.datasets.dataset import read_dataset
from benchmarks.systems.dense import vectors_in
from cdesearch.context.token_weights import TokenFrequencies
from cdesearch.context.vectors import to_unit
from cdesearch.encode.load import load_encoder
from tests.conftest import TINY, make_model, make_tokenizer
from trainer.export import export


@pytest.mark.parametrize("kind", ["tiny_checkpoint", "joint_checkpoint"])
def test_stored_vectors_belong_to_one_context(tmp_path, kind, request):
    encoder = load_encoder(request.getfixturevalue(kind))
    dataset = read_dataset(write_set(tmp_path / "x"))
    names, equal = list(map(str, range(4))), TokenFrequencies(np.zeros(encoder.config.backbone.vocabulary, int), 0)
    for number in range(2):
        sample = np.random.default_rng(number).normal(size=(4, encoder.dimension)).astype(np.float32)
        context = encoder.make_sample(names, names, sample, equal, seed=0)
        own = encoder.encode(dataset.texts, "document", context)
        for _ in range(2):
            found = vectors_in(context, dataset, encoder, tmp_path / "work")[1]
            np.testing.assert_allclose(found, to_unit(own), atol=1e-6)
    assert len(list((tmp_path / "work").iterdir())) == 4


def test_stored_vectors_belong_to_one_precision(tmp_path):
    """Two exports of the same weights have the same fingerprint."""
    make_tokenizer().save(str(tmp_path / "tokenizer.json"))
    model = make_model(replace(TINY, first_stage="shared"), gate=0.0)
    dataset, encoders = read_dataset(write_set(tmp_path / "x")), {}
    for precision in ("fp32", "int8"):
        export(model, tmp_path / "tokenizer.json", tmp_path / precision, precision)
        encoders[precision] = load_encoder(tmp_path / precision)
        assert encoders[precision].precision == precision
    assert encoders["fp32"].fingerprint == encoders["int8"].fingerprint
    for encoder in encoders.values():
        _, found = vectors_in(None, dataset, encoder, tmp_path / "work")
        np.testing.assert_allclose(found, encoder.encode(dataset.texts, "document", None), atol=1e-6)
