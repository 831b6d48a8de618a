import numpy as np
import pytest
from small_corpus import TEXTS, context_of

from cdesearch.context.context import Context
from cdesearch.encode.load import load_encoder
from cdesearch.errors import IndexDamagedError


def test_a_text_embeds_the_same_alone_and_among_others(tiny_encoder):
    context = context_of(tiny_encoder)
    together = tiny_encoder.encode(TEXTS, "document", context)
    for text, vector in zip(TEXTS, together, strict=True):
        np.testing.assert_allclose(tiny_encoder.encode([text], "document", context)[0], vector, atol=1e-5)


def test_the_context_contains_the_vectors_of_its_own_chunks(tiny_encoder):
    context = context_of(tiny_encoder)
    expected = tiny_encoder.encode(TEXTS, "document", context)
    np.testing.assert_allclose(context.sample_vectors, expected, atol=1e-5)


def test_parallel_batches_keep_the_order_of_texts(tiny_encoder, monkeypatch):
    context = context_of(tiny_encoder)
    whole = tiny_encoder.encode(TEXTS, "document", context)
    monkeypatch.setattr(tiny_encoder._runtime, "workers", 3)
    monkeypatch.setattr(tiny_encoder._runtime, "tokens_per_batch", 1)
    batches = list(tiny_encoder.stream(TEXTS, "document", context))
    assert sorted(place for places, *_ in batches for place in places) == list(range(len(TEXTS)))
    lengths = [len(tiny_encoder.tokenizer.encode(TEXTS[places[0]]).ids) for places, *_ in batches]
    assert len(batches) == len(TEXTS) and lengths == sorted(lengths)
    np.testing.assert_allclose(tiny_encoder.encode(TEXTS, "document", context), whole, atol=1e-5)


@pytest.mark.parametrize("name", ["tiny_checkpoint", "sink_checkpoint"])
def test_a_context_is_loaded_as_it_was_saved(name, request, tmp_path):
    context = context_of(load_encoder(request.getfixturevalue(name)))
    context.save(tmp_path / "context.safetensors")
    loaded = Context.load(tmp_path / "context.safetensors")
    assert loaded.fingerprint == context.fingerprint and loaded.sampled == context.sampled
    np.testing.assert_array_equal(loaded.inputs.keys, context.inputs.keys)
    (tmp_path / "context.safetensors").write_bytes(b"nothing")
    with pytest.raises(IndexDamagedError):
        Context.load(tmp_path / "context.safetensors")


@pytest.mark.parametrize("n_texts", [0, 1, 2])
def test_a_corpus_may_be_smaller_than_the_context(tiny_encoder, n_texts):
    context = context_of(tiny_encoder, TEXTS[:n_texts]) if n_texts else None
    assert np.isfinite(tiny_encoder.encode(["the cat"], "query", context)).all()


def test_a_truncating_encoder_reads_the_start_of_a_text_and_never_more_than_its_model(tiny_encoder):
    cut, whole = (
        encoder.encode(["the cat " * words], "document", None)
        for encoder, words in ((tiny_encoder.truncated_to(8), 9), (tiny_encoder, 3))
    )
    np.testing.assert_allclose(cut, whole, atol=1e-6)
    assert tiny_encoder.truncated_to(10_000).max_tokens == tiny_encoder.max_tokens
