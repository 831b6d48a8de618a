"""Texts to vectors: one protocol, two runtimes (ONNX Runtime and torch)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from tokenizers import Tokenizer

from cdesearch.context import Context, Floats, TokenFrequencies

Role = Literal["query", "document"]
Device = Literal["auto", "cpu", "cuda", "mps"]


class Encoder(Protocol):
    """A two-stage model ready to run. Vectors are float32 rows."""

    fingerprint: str  # hash of weights and configuration
    dimension: int  # d
    max_tokens: int  # longest text, prefix and special tokens included; longer ones are cut
    context_size: int  # J that the model was made for; fewer will do
    tokenizer: Tokenizer  # no truncation, no padding, adds special tokens

    def count_tokens(self, texts: Sequence[str]) -> TokenFrequencies:
        """Document frequency of every token over `texts`."""

    def first_stage(self, texts: Sequence[str]) -> Floats:
        """(n, d) first-stage vectors, not normalised."""

    def make_context(
        self,
        chunk_ids: Sequence[str],
        content_hashes: Sequence[str],
        texts: Sequence[str],
        vectors: Floats,
        frequencies: TokenFrequencies,
        seed: int,
    ) -> Context:
        """Everything the second stage needs of a corpus, from the sampled texts and their first-stage `vectors` (J, d)."""

    def encode(self, texts: Sequence[str], role: Role, context: Context | None) -> Floats:
        """(n, d) second-stage vectors of length 1, in the order of `texts`; a context of None is the null context."""


def load_encoder(model: Path | None = None, device: Device = "auto") -> Encoder:
    """Open the checkpoint folder `model` (None: the one that ships with the package); raises ModelError."""
    raise NotImplementedError
