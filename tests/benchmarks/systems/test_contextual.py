from dataclasses import replace

import numpy as np
import pytest
from beir_folder import WORDS, write_set

from benchmarks.datasets.dataset import read_dataset
from benchmarks.systems.dense import Contextual, corpus_context, vectors_in
from cdesearch.context.token_weights import TokenFrequencies
from cdesearch.context.vectors import to_unit
from cdesearch.encode.load import load_encoder
from tests.conftest import TINY, make_checkpoint, make_model, make_tokenizer
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


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    """Two data sets of four documents with three chunks each, and one with a single chunk."""
    found = []
    for seed in range(2):
        random = np.random.default_rng(seed)
        names = [f"book {number}::{chunk}" for number in range(4) for chunk in range(3)] + ["alone"]
        rows = [{"_id": name, "text": " ".join(random.choice(WORDS, size=6))} for name in names]
        folder = write_set(tmp_path_factory.mktemp("sets") / f"set{seed}", corpus=rows, judged=["q0\talone\t1"])
        found.append(read_dataset(folder))
    return found


def test_with_late_chunking_the_chunks_of_a_document_are_measured_in_their_windows(datasets, tmp_path):
    config = replace(TINY, first_stage="shared", window_tokens=40)
    encoder, (own, other) = load_encoder(make_checkpoint(tmp_path / "m", config)), datasets
    assert max(map(len, own.documents)) > 1
    for kind in ("true", "null"):
        found = Contextual(encoder, tmp_path / kind, kind, other).vectors(own)[1]
        context = None if kind == "null" else corpus_context(encoder, own, tmp_path / kind)
        expected = to_unit(encoder.encode_chunks(own.texts, own.documents, context))
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert np.abs(found - encoder.encode(own.texts, "document", context)).max() > 1e-3
