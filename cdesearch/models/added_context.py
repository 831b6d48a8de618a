"""What the corpus adds to the vectors of a published model that was trained without a corpus.

Everything is computed in closed form, so no training is needed: whitening, pooling by idf where the model pools a mean,
and document context. A published model with it is another model, so it has another fingerprint.
"""

import hashlib
from dataclasses import astuple, replace

from cdesearch.models.config import ModelConfig, StatisticsConfig

# The strength of the whitening follows from the spectrum of the vectors, because `ridge` is relative to its mean. The
# choice of the numbers is recorded in benchmarks/results/LOG.md.
ADDED_STATISTICS = StatisticsConfig(shift=0.5, ridge=20.0, power=0.5, idf_exponent=0.25, half_at=32.0)
ADDED_DOCUMENT_WEIGHT = 0.6


def with_added_context(config: ModelConfig) -> ModelConfig:
    """The configuration of a published model, with statistics of the corpus and document context."""
    return replace(config, statistics=ADDED_STATISTICS, document_weight=ADDED_DOCUMENT_WEIGHT)


def has_added_context(config: ModelConfig) -> bool:
    """Whether this configuration is a result of `with_added_context`."""
    return config.statistics == ADDED_STATISTICS


def fingerprint_with_added_context(fingerprint: str) -> str:
    """The fingerprint of a published model with added context, from that of the model as it was published."""
    numbers = (*astuple(ADDED_STATISTICS), ADDED_DOCUMENT_WEIGHT)
    return hashlib.blake2b(f"{fingerprint} {numbers}".encode(), digest_size=16).hexdigest()
