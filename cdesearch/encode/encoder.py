"""Texts to vectors: prefixes, length-sorted batches, the context; the networks run in one of two runtimes."""

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from cdesearch.context.context import (
    Context,
    ContextSample,
    EncodingContext,
    FittedContext,
    NetworkInputs,
    NullContext,
    SampledChunks,
)
from cdesearch.context.token_weights import TokenFrequencies, idf_weights
from cdesearch.context.vectors import Floats
from cdesearch.context.whitening import Whitening
from cdesearch.encode.length_batches import Integers, Limits, make_batches
from cdesearch.models.config import ModelConfig

Role = Literal["query", "document"]
Output = TypeVar("Output")
Advance = Callable[[int], None]


class Runtime(Protocol):
    """The networks on one device. Ids and mask are (B, S, T): texts, each read in S spans, and pooled whole.

    Every context input is as `NetworkInputs` holds it.
    """

    workers: int  # batches that run at once
    tokens_per_batch: int
    pads: bool  # whether a batch may hold texts of different lengths
    reads_context: bool  # whether any gate is open; else first-stage vectors change nothing
    prefix_rows: int  # how many rows precede each text in a joint second stage

    @property
    def precision(self) -> str:
        """The number format of the matrix products, `fp32` or `int8`: exports of both have one fingerprint."""

    def first_stage(self, input_ids: Integers, mask: Integers) -> Floats:
        """(B, d) first-stage vectors, not normalised."""

    def cache(self, vectors: Floats, is_null: NDArray[np.bool_]) -> tuple[Floats, Floats] | None:
        """Keys and values (L, J, d) of a context; None where the context is not let in, or joint."""

    def second_stage(self, input_ids: Integers, mask: Integers, context: EncodingContext) -> tuple[Floats, Floats]:
        """(B, d) pooled, before the statistics head, and (B, d) final unit vectors."""


def _unseen(_: int) -> None:
    """Progress that nobody watches."""


class Encoder:
    """A two-stage model ready to run. Vectors are float32 rows."""

    def __init__(self, config: ModelConfig, tokenizer: Tokenizer, runtime: Runtime, fingerprint: str) -> None:
        self.config = config
        self.tokenizer = tokenizer
        self.fingerprint = fingerprint  # hash of weights, configuration and tokenizer
        self.dimension = config.backbone.dimension
        self.max_tokens = config.max_tokens  # prefix and special tokens included; longer texts are cut
        prefix = tokenizer.encode(config.document_prefix, add_special_tokens=False)
        self.max_chunk_tokens = config.max_tokens - len(prefix.ids)  # of a document's text, special tokens included
        self.context_size = config.context_size  # J that the model was made for; fewer will do
        self.reads_context = runtime.reads_context
        self._runtime = runtime
        self._null = self._null_context()

    @property
    def precision(self) -> str:
        """`fp32` or `int8`: two exports of one model have the same fingerprint and different vectors."""
        return self._runtime.precision

    def cut_at(self, max_tokens: int) -> "Encoder":
        """The same model, cutting texts to so many tokens if it reads more, prefix and special tokens included."""
        config = replace(self.config, max_tokens=min(max_tokens, self.max_tokens))
        return Encoder(config, self.tokenizer, self._runtime, f"{self.fingerprint} {config.max_tokens}")

    def count_tokens(self, texts: Sequence[str]) -> TokenFrequencies:
        """Document frequency of every token over `texts`."""
        counts = np.zeros(self.config.backbone.vocabulary, np.int64)
        for encoding in self.tokenizer.encode_batch_fast(list(texts)):
            counts[np.unique(encoding.ids)] += 1
        return TokenFrequencies(counts, len(texts))

    def first_stage(self, texts: Sequence[str], advance: Advance = _unseen) -> Floats:
        """(n, d) first-stage vectors, not normalised; `advance` is told how many more are done."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for places, batch in self._run(texts, self.config.document_prefix, self._runtime.first_stage):
            vectors[places] = batch
            advance(len(places))
        return vectors

    def context_vectors(self, texts: Sequence[str]) -> Floats:
        """(J, d) first-stage vectors to make a context of; zeros where every gate is closed, for nothing reads them."""
        return self.first_stage(texts) if self.reads_context else np.zeros((len(texts), self.dimension), np.float32)

    def make_context(
        self,
        chunk_ids: Sequence[str],
        content_hashes: Sequence[str],
        texts: Sequence[str],
        frequencies: TokenFrequencies,
        seed: int,
    ) -> Context:
        """A context whose whitening is fitted to the sampled texts alone."""
        sample = self.make_sample(chunk_ids, content_hashes, self.context_vectors(texts), frequencies, seed)
        pooled = self.encode(texts, "document", sample)
        fitted = self.fit(sample, content_hashes, pooled)
        return Context.of(fitted, fitted.whitening.apply(pooled))

    def make_sample(
        self,
        chunk_ids: Sequence[str],
        content_hashes: Sequence[str],
        vectors: Floats,
        frequencies: TokenFrequencies,
        seed: int,
    ) -> ContextSample:
        """What the second stage needs of the sampled texts, from their first-stage `vectors` (J, d)."""
        is_null = np.zeros(len(vectors), bool)
        keys, values = self._runtime.cache(vectors, is_null) or (None, None)
        special = np.array(sorted(self.tokenizer.get_added_tokens_decoder()), np.int64)
        weights = idf_weights(frequencies, special, self.config.statistics.idf_exponent)
        return ContextSample(
            SampledChunks(tuple(chunk_ids), tuple(content_hashes), seed, self.fingerprint),
            _fingerprint(self.fingerprint, content_hashes, frequencies, seed),
            NetworkInputs(vectors, is_null, keys, values, weights),
            self._null.whitening,
        )

    def fit(self, sample: ContextSample, content_hashes: Sequence[str], vectors: Floats) -> FittedContext:
        """The whitening of a corpus, from the vectors (n, d) of the hashed texts, encoded with `sample`."""
        digest = hashlib.blake2b(" ".join([sample.fingerprint, *content_hashes]).encode(), digest_size=16)
        whitening = Whitening.fit(vectors, self.config.statistics)
        return FittedContext(sample.sampled, digest.hexdigest(), sample.inputs, whitening)

    def fits(self, context: EncodingContext) -> bool:
        """Whether a stored context has the vocabulary, dimension and layers of this model."""
        ours, theirs = self._null.inputs, context.inputs
        layers = [None if inputs.keys is None else inputs.keys.shape[::2] for inputs in (ours, theirs)]
        return (
            layers[0] == layers[1]
            and ours.token_weights.shape == theirs.token_weights.shape
            and context.whitening.shift.shape == (self.dimension,)
        )

    def truncates(self, text: str, role: Role) -> bool:
        """Whether a text has more tokens, prefix included, than the model reads."""
        return len(self.tokenizer.encode(self._prefix(role) + text).ids) > self.max_tokens

    def encode(self, texts: Sequence[str], role: Role, context: EncodingContext | None) -> Floats:
        """(n, d) second-stage vectors of length 1, in the order of `texts`; a context of None is the null context."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for places, batch in self.stream(texts, role, context):
            vectors[places] = batch
        return vectors

    def stream(
        self, texts: Sequence[str], role: Role, context: EncodingContext | None
    ) -> Iterator[tuple[Integers, Floats]]:
        """What `encode` gives, batch by batch as it is done: places in `texts` and their vectors.

        Shortest texts first, so that whoever stops and goes on with the rest gets the same batches as without the
        stop: in a quantised model a vector depends a little on what else is in its batch.
        """
        for places, (_, vectors) in self._second_stage(texts, self._prefix(role), context or self._null):
            yield places, vectors

    def _prefix(self, role: Role) -> str:
        return self.config.query_prefix if role == "query" else self.config.document_prefix

    def _second_stage(
        self, texts: Sequence[str], prefix: str, context: EncodingContext
    ) -> Iterator[tuple[Integers, tuple[Floats, Floats]]]:
        return self._run(
            texts, prefix, lambda ids, mask: self._runtime.second_stage(ids, mask, context), self._runtime.prefix_rows
        )

    def _run(
        self, texts: Sequence[str], prefix: str, network: Callable[[Integers, Integers], Output], prefix_rows: int = 0
    ) -> Iterator[tuple[Integers, Output]]:
        """Places and outputs of every batch, in order; as many batches at once as the runtime has workers."""
        runtime = self._runtime
        limits = Limits(self.max_tokens, self.config.span_tokens, runtime.tokens_per_batch, runtime.pads, prefix_rows)
        encodings = self.tokenizer.encode_batch_fast([prefix + text for text in texts])
        n_opening = 1 + len(self.tokenizer.encode(prefix, add_special_tokens=False).ids)
        batches = make_batches([encoding.ids for encoding in encodings], n_opening, limits)
        if runtime.workers == 1 or len(batches) == 1:
            for batch in batches:
                yield batch.places, network(batch.ids, batch.mask)
            return
        pool = ThreadPoolExecutor(runtime.workers)
        try:
            running = deque((batch.places, pool.submit(network, batch.ids, batch.mask)) for batch in batches)
            while running:
                places, output = running.popleft()
                yield places, output.result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _null_context(self) -> NullContext:
        """The learned null vector in every slot, equal token weights, no whitening."""
        slots = self.config.context_size if self.config.context_attention == "joint" else 1
        vectors, is_null = np.zeros((slots, self.dimension), np.float32), np.ones(slots, bool)
        keys, values = self._runtime.cache(vectors, is_null) or (None, None)
        weights = np.ones(self.config.backbone.vocabulary, np.float32)
        return NullContext(NetworkInputs(vectors, is_null, keys, values, weights), Whitening.identity(self.dimension))


def _fingerprint(model: str, hashes: Sequence[str], frequencies: TokenFrequencies, seed: int) -> str:
    digest = hashlib.blake2b(f"{model} {seed} {frequencies.n_texts}".encode(), digest_size=16)
    digest.update(" ".join(hashes).encode())
    digest.update(frequencies.counts.tobytes())
    return digest.hexdigest()
