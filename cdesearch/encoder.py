"""Texts to vectors: one protocol, two runtimes (ONNX Runtime and torch)."""

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from cdesearch.context import Context

Floats = NDArray[np.float32]
Role = Literal["query", "document"]


class Encoder(Protocol):
    """A two-stage model ready to run. All vectors are float32 rows."""

    @property
    def fingerprint(self) -> str:
        """Hash of weights and configuration."""

    @property
    def dimension(self) -> int:
        """d, the length of a vector."""

    @property
    def context_size(self) -> int:
        """J, the number of context chunks that the model was made for; fewer will do."""

    def count_tokens(self, texts: Sequence[str]) -> "TokenCounts":
        """Token count of each text and the document frequency of each token over all of them."""

    def make_context(self, chunk_ids: Sequence[str], texts: Sequence[str], frequencies: "Frequencies", seed: int) -> Context:
        """First stage over the sampled texts, then everything the second stage needs of them, computed once."""

    def encode(self, texts: Sequence[str], role: Role, context: Context | None) -> Floats:
        """Second stage: (n, d), rows of length 1, in the order of `texts`; `None` is the null context."""
