"""The context head: its formula, what it attends to, and what an encoder makes of it."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import TINY, make_checkpoint, random_head
from small_corpus import TEXTS, context_of

from cdesearch.context.context import Context
from cdesearch.context.head import BATCH, ContextHead
from cdesearch.context.vectors import to_unit
from cdesearch.context.whitening import Whitening
from cdesearch.encode.load import load_encoder
from cdesearch.errors import ModelError
from cdesearch.models.config import ModelConfig

OTHERS = ["a ship on the sea", "the wind", "iron and coal", "seed", "a lamp at night", "c: d", "rope"]


def unit_vectors(n, seed, d=12):
    return to_unit(np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32))


def by_the_formula(config, vectors, context, role):
    """The head as loops over numbers of double precision."""
    side = getattr(config, role)
    sharpness = math.exp(side.log_sharpness)
    sink = math.exp(sharpness * 0.3 + side.sink)
    made = []
    for vector in vectors.astype(float):
        cosines = [float(vector @ other) for other in context.astype(float)]
        others = [cosine for cosine in cosines if cosine <= 0.9999]
        raised = [math.exp(sharpness * cosine) if cosine <= 0.9999 else 0.0 for cosine in cosines]
        weights = [one / (sum(raised) + sink) for one in raised]
        nearest = sorted([*others, *[-1.0] * (len(cosines) - len(others))])[-10:]
        mean = (sum(others) - (len(cosines) - len(others))) / len(cosines)
        features = [nearest[-1], sum(nearest) / len(nearest), sum(weights), 10 * mean, 1.0]
        hidden = [sum(w * f for w, f in zip(row, features, strict=True)) for row in side.hidden]
        hidden = [0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) for x in hidden]
        some = min(1, len(context) / 64)
        gates = [some * sum(w * h for w, h in zip(row, [*hidden, 1.0], strict=True)) for row in side.gates]
        attended = sum(weight * other for weight, other in zip(weights, context.astype(float), strict=True))
        changed = vector + gates[0] * attended + gates[1] * context.astype(float).mean(axis=0)
        made.append(changed / np.linalg.norm(changed))
    return np.array(made)


@pytest.mark.parametrize("size", [1, 40, 70])
@pytest.mark.parametrize("role", ["query", "document"])
def test_the_head_is_what_its_formula_says(size, role):
    context = unit_vectors(size, 1)
    vectors = np.vstack([unit_vectors(5, 2), context[:1]])  # the last one is a chunk of the context itself
    made = ContextHead(random_head()).apply(vectors, context, role)
    np.testing.assert_allclose(made, by_the_formula(random_head(), vectors, context, role), atol=1e-5)
    assert made.dtype == np.float32


def test_many_texts_are_changed_as_each_one_alone():
    context, vectors = unit_vectors(9, 4, d=4), unit_vectors(BATCH + 3, 5, d=4)
    head = ContextHead(random_head())
    for row in (0, BATCH - 1, BATCH, BATCH + 2):
        alone = head.apply(vectors[row : row + 1], context, "query")[0]
        np.testing.assert_allclose(head.apply(vectors, context, "query")[row], alone, atol=1e-6)


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_an_encoder_applies_the_head_behind_the_whitening(closed_checkpoint, device):
    encoder, headless = load_encoder(closed_checkpoint, device), load_encoder(closed_checkpoint)
    headless.head = None
    context = context_of(encoder)
    bare = replace(context, whitening=Whitening.identity(encoder.dimension))
    for role in ("query", "document"):
        pooled = headless.encode(TEXTS, role, bare)
        expected = by_the_formula(encoder.config.context_head, context.whitening.apply(pooled), context.attended, role)
        np.testing.assert_allclose(encoder.encode(TEXTS, role, context), expected, atol=1e-5)
        np.testing.assert_allclose(encoder.second_stage(pooled, role, context), expected, atol=1e-5)


def test_the_context_is_kept_in_a_file_and_changes_vectors(closed_checkpoint, tmp_path):
    encoder = load_encoder(closed_checkpoint)
    own, foreign = context_of(encoder), context_of(encoder, OTHERS)
    own.save(tmp_path / "context.safetensors")
    read = Context.load(tmp_path / "context.safetensors")
    np.testing.assert_array_equal(encoder.encode(TEXTS, "query", read), encoder.encode(TEXTS, "query", own))
    assert own.attended.shape == (len(TEXTS), encoder.dimension)
    exchanged = replace(own, attended=foreign.attended)
    assert np.abs(encoder.encode(TEXTS, "query", exchanged) - encoder.encode(TEXTS, "query", own)).max() > 0.01


def test_networks_that_read_the_context_have_no_head(tmp_path):
    checkpoint = make_checkpoint(tmp_path / "open", replace(TINY, context_head=random_head()), gate=0.5)
    assert load_encoder(checkpoint).reads_context
    assert load_encoder(checkpoint).head is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda head: head["query"].pop("sink"), "sink"),
        (lambda head: head["document"]["hidden"].pop(), "hidden"),
        (lambda head: head["document"]["gates"][0].append(1.0), "gates"),
        (lambda head: head["query"].update(sink=1e9), "sink"),
        (lambda head: head.pop("query"), "query"),
        (lambda head: head["query"].update(scale=1.0), "not supported: scale"),
        (lambda head: head.update(heads=2), "not supported: heads"),
    ],
)
def test_a_head_with_impossible_parameters_is_refused(tmp_path, change, message):
    config = replace(TINY, context_head=random_head())
    config.save(tmp_path)
    assert ModelConfig.load(tmp_path) == config
    values = json.loads((tmp_path / "config.json").read_text())
    change(values["context_head"])
    (tmp_path / "config.json").write_text(json.dumps(values))
    with pytest.raises(ModelError, match=message):
        ModelConfig.load(tmp_path)
