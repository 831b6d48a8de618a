"""Count the arithmetic operations of a forward pass."""

from collections.abc import Sequence

from cdesearch.models.config import BackboneConfig


def forward_operations(shape: BackboneConfig, lengths: Sequence[int]) -> float:
    """Floating-point operations of the matrix products of a forward pass over texts of these lengths in tokens."""
    a_token = 2 * shape.n_layers * (4 * shape.dimension**2 + 2 * shape.dimension * shape.inner)
    attention = 4 * shape.n_layers * shape.dimension * sum(length**2 for length in lengths)
    return float(a_token * sum(lengths) + attention)
