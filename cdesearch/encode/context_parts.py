"""The parts of a context for one model: its fingerprint, its whitening, and the null context."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cdesearch.context.context import ContextSample, EncodingContext, FittedContext, NetworkInputs, NullContext
from cdesearch.context.vectors import Floats
from cdesearch.context.whitening import Whitening, soft_whitening
from cdesearch.encode.runtime import Runtime
from cdesearch.models.config import ModelConfig


def null_context(config: ModelConfig, runtime: Runtime) -> NullContext:
    """The learned null vector in every slot, equal token weights, no whitening."""
    vectors = np.zeros((config.null_slots, config.backbone.dimension), np.float32)
    is_null = np.ones(config.null_slots, bool)
    keys, values = runtime.cache(vectors, is_null) or (None, None)
    weights = np.ones(config.backbone.vocabulary, np.float32)
    inputs = NetworkInputs(vectors, is_null, keys, values, weights)
    return NullContext(inputs, Whitening.identity(config.backbone.dimension))


def fitted_context(
    sample: ContextSample, content_hashes: Sequence[str], vectors: Floats, config: ModelConfig
) -> FittedContext:
    """The sample with the whitening that is fitted to `vectors` (n, d).

    If the networks read no context, `vectors` also has those of the sampled chunks, to which the context head attends:
    each as a document of its own.
    """
    digest = hashlib.blake2b(" ".join([sample.fingerprint, *content_hashes]).encode(), digest_size=16)
    typical_mean = np.array(config.typical_mean) if config.typical_mean else None
    whitening = soft_whitening(vectors, config.statistics, typical_mean)
    inputs = sample.inputs
    if not inputs.vectors.any():
        rows = {content: row for row, content in enumerate(content_hashes)}
        found = [rows.get(content) for content in sample.sampled.content_hashes]
        known = [row is not None for row in found]
        inputs = replace(inputs, vectors=np.zeros_like(inputs.vectors))
        inputs.vectors[known] = vectors[[row for row in found if row is not None]]
    attended = whitening.apply(inputs.vectors[inputs.vectors.any(axis=1)])
    return FittedContext(sample.sampled, digest.hexdigest(), inputs, whitening, attended)


def layout_of(context: EncodingContext) -> tuple[object, ...]:
    """What contexts of the same model have in common: vocabulary, dimensions and layers."""
    inputs, whitening = context.inputs, context.whitening
    layers = None if inputs.keys is None else inputs.keys.shape[::2]
    return layers, inputs.token_weights.shape, whitening.shift.shape, whitening.projection.shape


def sample_fingerprint(model: str, hashes: Sequence[str], token_weights: Floats, seed: int) -> str:
    """A hash of all that the context of a sample depends on."""
    digest = hashlib.blake2b(f"{model} {seed}".encode(), digest_size=16)
    digest.update(" ".join(hashes).encode())
    digest.update(token_weights.tobytes())
    return digest.hexdigest()
