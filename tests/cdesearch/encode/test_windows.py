"""Late chunking in models of this project: the chunks of a document are read together, window by window."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from conftest import TINY, make_checkpoint, make_tokenizer

from cdesearch.encode.embedder import context_of_texts
from cdesearch.encode.load import load_encoder
from cdesearch.models.contextual.model import load_checkpoint

CHUNKS = ["the cat and the dog", "water", "moon, engine: bread", "river stone light light", "a dog"]
FREQUENT = ["the cat", "the dog", "the moon", "water"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    config = replace(TINY, first_stage="shared", window_tokens=20)
    return make_checkpoint(tmp_path_factory.mktemp("windows") / "model", config)


@pytest.fixture(params=["torch", "onnx"])
def encoder(request, folder, tmp_path):
    if request.param == "onnx":
        return load_encoder(folder)
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    return load_encoder(tmp_path)


def context_of(encoder):
    return context_of_texts(encoder, FREQUENT, len(FREQUENT), 0)


def direct(folder, chunks, context):
    """The pooled vectors of chunks: loops over the tokens of a window whose states the backbone computes."""
    model, tokenizer = load_checkpoint(folder), make_tokenizer()
    rows = [tokenizer.encode(chunk).ids for chunk in chunks]
    ids = torch.tensor([[number for row in rows for number in row]])
    stage, inputs = model.second_stage, context.inputs
    with torch.inference_mode():
        states = stage.backbone.embed(ids)
        keys, values = torch.from_numpy(inputs.keys), torch.from_numpy(inputs.values)
        for number, (block, cross) in enumerate(stage.layers):
            gated = number - stage._context_from
            states = block(states, None, None if cross is None else (cross, (keys[gated], values[gated])))
    vectors, start = [], 0
    for row in rows:
        weights = inputs.token_weights[row].astype(np.float64)
        own = states[0, start : start + len(row)].double().numpy()
        vectors.append(sum(w * state for w, state in zip(weights, own, strict=True)) / weights.sum())
        start += len(row)
    unit = np.array(vectors) / np.linalg.norm(vectors, axis=1, keepdims=True)
    return context.whitening.apply(unit)


def test_a_chunk_is_the_weighted_mean_of_its_own_tokens_in_the_window(folder, encoder):
    context = context_of(encoder)
    found = encoder.encode_window(CHUNKS[:3], context)
    np.testing.assert_allclose(found, direct(folder, CHUNKS[:3], context), atol=2e-5)
    alone = encoder.encode(CHUNKS[:3], "document", context)
    assert np.abs(found - alone).max() > 1e-3, "the chunks read one another"


def test_a_window_of_one_chunk_is_the_chunk_alone_even_if_it_is_longer_than_a_window(encoder):
    context, long = context_of(encoder), " ".join(["moon river"] * 20)
    assert encoder.windows([long]) == [range(1)]
    for chunk in (long, CHUNKS[0]):
        alone = encoder.encode([chunk], "document", context)
        np.testing.assert_array_equal(encoder.encode_window([chunk], context), alone)


def test_windows_hold_as_many_whole_chunks_as_fit(encoder):
    lengths = [len(encoder.tokenizer.encode(chunk).ids) for chunk in CHUNKS]
    windows = encoder.windows(CHUNKS)
    assert [place for window in windows for place in window] == list(range(len(CHUNKS))) and len(windows) > 1
    for window, following in pairwise(windows):
        used = sum(lengths[place] for place in window)
        assert used <= 20 < used + lengths[following.start]
