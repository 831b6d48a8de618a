"""Encode texts as vectors: prefixes, batches of similar length, the context. A runtime computes the networks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from tokenizers import Tokenizer

from cdesearch.context.context import ContextSample, EncodingContext, FittedContext, NetworkInputs, SampledChunks
from cdesearch.context.head import ContextHead, Role
from cdesearch.context.token_weights import TokenFrequencies, idf_weights
from cdesearch.context.vectors import Floats
from cdesearch.encode.context_parts import fitted_context, layout_of, null_context, sample_fingerprint
from cdesearch.encode.length_batches import (
    WINDOW_TOKENS,
    Integers,
    ModelTokens,
    Output,
    join_chunks,
    run_parallel,
    split_windows,
)
from cdesearch.encode.runtime import Runtime, Unexported
from cdesearch.encode.token_signs import QueryTokens, query_tokens, signs_of
from cdesearch.errors import ModelError
from cdesearch.models.checkpoint_files import AGAIN
from cdesearch.models.config import ModelConfig

Advance = Callable[[int], None]


class Encoder:
    """A two-stage model ready to run. Vectors are float32 rows."""

    probes: Floats | None = None  # vectors of fixed texts, by which a model on a server is recognised

    def __init__(
        self,
        config: ModelConfig,
        tokenizer: Tokenizer,
        runtime: Runtime,
        fingerprint: str,
        separator: int | None = None,
    ) -> None:
        self.config = config
        self.tokenizer = tokenizer
        self.fingerprint = fingerprint  # hash of weights, configuration and tokenizer
        self.separator = separator  # the token between chunks of a document that are read together; None: there is none
        self.dimension = config.backbone.dimension  # of vectors
        self.max_tokens = config.max_tokens  # prefix and special tokens included; longer texts are truncated
        self._tokens = ModelTokens(tokenizer, config)
        # Of a document's text, special tokens included.
        self.max_chunk_tokens = config.max_tokens - self._tokens.count(config.document_prefix)
        self.context_size = config.context_size  # J, the size that the model was trained with; fewer chunks work too
        self.reads_context = runtime.reads_context
        self.unexported: Unexported | None = None  # set if the model has no export yet
        self.remark: str | None = None  # a line about the model for the user who builds an index with it
        self._runtime = runtime
        self._null = null_context(config, runtime)
        # Networks that read the context themselves were trained without a head. Chunks that are read together have
        # first-stage vectors of their windows, so that those of a sample are not known by their texts.
        head = None if runtime.reads_context or self.joins_chunks else config.context_head
        self.head = None if head is None else ContextHead(head)

    @property
    def precision(self) -> str:
        """`fp32` or `int8`: two exports of one model have the same fingerprint and different vectors."""
        return self._runtime.precision

    def truncated_to(self, max_tokens: int) -> "Encoder":
        """This model with texts truncated to at most `max_tokens`, prefix and special tokens included."""
        config = replace(self.config, max_tokens=min(max_tokens, self.max_tokens))
        fingerprint = f"{self.fingerprint} {config.max_tokens}"
        return Encoder(config, self.tokenizer, self._runtime, fingerprint, self.separator)

    def on(self, runtime: Runtime) -> "Encoder":
        return Encoder(self.config, self.tokenizer, runtime, self.fingerprint, self.separator)

    def use_runtime(self, runtime: Runtime) -> None:
        """Continue on another runtime, which computes the same network."""
        self._runtime = runtime
        self.unexported = None

    def limit_threads(self, most: int) -> None:
        """Run at most so many batches at the same time, because other processes use the other cores."""
        self._runtime.workers = min(self._runtime.workers, most)

    def count_tokens(self, texts: Sequence[str]) -> TokenFrequencies:
        return self._tokens.frequencies(texts)

    def first_stage(self, texts: Sequence[str], advance: Advance = lambda _: None) -> Floats:
        """(n, d) first-stage vectors, not normalised; `advance` is called with the number of texts of each batch."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for indices, batch in self._run(texts, self.config.document_prefix, self._runtime.first_stage):
            vectors[indices] = self._checked(batch, len(indices), self.dimension)
            advance(len(indices))
        return vectors

    def context_vectors(self, texts: Sequence[str]) -> Floats:
        """First-stage vectors (J, d) that the networks read of the texts of a context; zeros if they read none."""
        return self.first_stage(texts) if self.reads_context else np.zeros((len(texts), self.dimension), np.float32)

    def make_sample(
        self,
        chunk_ids: Sequence[str],
        content_hashes: Sequence[str],
        vectors: Floats,
        frequencies: TokenFrequencies,
        seed: int,
    ) -> ContextSample:
        """The context of sampled texts before it is fitted; `vectors` are what `context_vectors` returns for them."""
        weights = idf_weights(frequencies, self._special_ids, self.config.statistics.idf_exponent)
        return self.weighted_sample(chunk_ids, content_hashes, vectors, weights, seed)

    def weighted_sample(
        self, chunk_ids: Sequence[str], content_hashes: Sequence[str], vectors: Floats, weights: Floats, seed: int
    ) -> ContextSample:
        """The same with token weights (V,) that are known already, such as those of an earlier context."""
        is_null = np.zeros(len(vectors), bool)
        keys, values = self._runtime.cache(vectors, is_null) or (None, None)
        return ContextSample(
            SampledChunks(tuple(chunk_ids), tuple(content_hashes), seed, self.fingerprint),
            sample_fingerprint(self.fingerprint, content_hashes, weights, seed),
            NetworkInputs(vectors, is_null, keys, values, weights),
            self._null.whitening,
        )

    def fit(self, sample: ContextSample, content_hashes: Sequence[str], vectors: Floats) -> FittedContext:
        """The sample with the whitening fitted to `vectors` (n, d), encoded with it, of texts with these hashes."""
        return fitted_context(sample, content_hashes, vectors, self.config)

    def second_stage(self, pooled: Floats, role: Role, context: EncodingContext) -> Floats:
        """(n, d') unit vectors in a fitted context, from pooled ones (n, d): whitened, and changed by the context head.

        For networks that do not read the context, so that pooled vectors of one context serve another one. Chunks of
        a document get the context of their document in between, see `attend`.
        """
        return self.attend(context.whitening.apply(pooled), role, context)

    def attend(self, whitened: Floats, role: Role, context: EncodingContext) -> Floats:
        """The whitened unit vectors, changed by the context head if there is one and the context is fitted."""
        attended = context.attended
        if self.head is None or attended is None or not len(attended):
            return whitened
        return self.head.apply(whitened, attended, role)

    def fits(self, context: EncodingContext) -> bool:
        """Whether a stored context has the vocabulary, dimension and layers of this model."""
        return layout_of(context) == layout_of(self._null)

    def truncates(self, text: str, role: Role) -> bool:
        """Whether a text has more tokens, prefix included, than the model reads."""
        return len(self.tokenizer.encode(self._tokens.prefix(role) + text).ids) > self.max_tokens

    def encode(self, texts: Sequence[str], role: Role, context: EncodingContext | None) -> Floats:
        """(n, d) second-stage vectors of length 1, in the order of `texts`; a context of None is the null context."""
        vectors = self._empty(len(texts), context)
        for indices, batch, _ in self.stream(texts, role, context):
            vectors[indices] = batch
        return vectors

    def encode_queries(
        self, texts: Sequence[str], context: EncodingContext | None
    ) -> tuple[Floats, list[QueryTokens | None]]:
        """(n, d) vectors of queries, and their tokens for late interaction; None if tokens cannot be compared.

        Each is as if its text were the only one, up to rounding. In a quantised model, where the vectors of a batch
        depend on each other, every text is a batch of its own, and the result is exact. The runtime's `workers` compute
        several batches at the same time.
        """
        vectors = self._empty(len(texts), context)
        tokens: list[QueryTokens | None] = [None] * len(texts)
        alone = len(texts) > 1 and self.precision == "int8"
        context = context or self._null
        for indices, computed, weights, projections in self._computed(texts, "query", context, alone=alone):
            vectors[indices] = self._checked(computed, len(indices), vectors.shape[1])
            if projections is not None:
                for row, *of_query in zip(indices.tolist(), projections, weights, strict=True):
                    tokens[row] = query_tokens(*of_query)
        for row in range(len(vectors)):  # products of several rows are rounded otherwise
            vectors[row : row + 1] = self.attend(vectors[row : row + 1], "query", context)
        return vectors, tokens

    @property
    def joins_chunks(self) -> bool:
        """Whether the chunks of a document are read together, window by window (late chunking)."""
        return self.separator is not None or self.config.window_tokens > 0

    def windows(self, chunks: Sequence[str]) -> list[range]:
        """Divide all chunks of a document, if the model joins them, into windows that `encode_window` reads at once."""
        lengths = list(map(len, self._tokens.chunk_ids(chunks)))
        if self.separator is None:
            return split_windows(lengths, self.config.window_tokens, 0)
        return split_windows(lengths, min(WINDOW_TOKENS, self.max_tokens), 1)

    def encode_window(self, chunks: Sequence[str], context: EncodingContext | None) -> Floats:
        """(n, d) vectors of the chunks of a window, each of which reads the others; of one chunk, that of `encode`."""
        if self.separator is None and len(chunks) == 1:
            return self.encode(chunks, "document", context)  # which divides a long text into spans
        ids, belongs = join_chunks(self._tokens.chunk_ids(chunks), self.separator)
        context = context or self._null
        vectors = self._runtime.second_stage_chunks(ids, belongs, context)
        return self.attend(self._checked(vectors, len(chunks), context.whitening.dimension), "document", context)

    def encode_windows(self, windows: Sequence[Sequence[str]], context: EncodingContext | None) -> Iterator[Floats]:
        """The vectors of each window, in order; the runtime's `workers` compute several at the same time."""
        return run_parallel(lambda chunks: self.encode_window(chunks, context), windows, self._runtime.workers)

    def stream(
        self, texts: Sequence[str], role: Role, context: EncodingContext | None
    ) -> Iterator[tuple[Integers, Floats, list[bytes]]]:
        """Each batch of `encode` when it is computed: the indices of its texts in `texts`, their vectors and tokens.

        The tokens are those of `token_signs`, and empty if tokens cannot be compared. The shortest texts come first, so
        that a caller who stops and later encodes the rest gets the same batches as without the stop. In a quantised
        model a vector depends a little on the other texts of its batch.
        """
        context = context or self._null
        for indices, vectors, weights, projections in self._computed(texts, role, context):
            checked = self._checked(vectors, len(indices), context.whitening.dimension)
            tokens = [b""] * len(indices) if projections is None else signs_of(projections, weights)
            yield indices, self.attend(checked, role, context), tokens

    def _computed(
        self, texts: Sequence[str], role: Role, context: EncodingContext, *, alone: bool = False
    ) -> Iterator[tuple[Integers, Floats, Floats, Floats | None]]:
        """Run the second stage: of each batch the indices, the vectors, and the weights and projections of its tokens.

        The weights (B, S, T) are 0 for padding and special tokens. With `alone`, each text is a batch of its own.
        """

        def network(ids: Integers, mask: Integers) -> tuple[Floats, Floats, Floats | None]:
            vectors, projections = self._runtime.second_stage(ids, mask, context)
            weights = context.inputs.token_weights[ids] * (mask.astype(bool) & ~np.isin(ids, self._special_ids))
            return vectors, weights, projections

        prefix, prefix_rows = self._tokens.prefix(role), self._runtime.prefix_rows
        for indices, found in self._run(texts, prefix, network, prefix_rows=prefix_rows, alone=alone):
            yield indices, *found

    @cached_property
    def _special_ids(self) -> Integers:
        return np.array(sorted(self.tokenizer.get_added_tokens_decoder()), np.int64)

    def _run(
        self,
        texts: Sequence[str],
        prefix: str,
        network: Callable[[Integers, Integers], Output],
        *,
        prefix_rows: int = 0,
        alone: bool = False,
    ) -> Iterator[tuple[Integers, Output]]:
        ids = self._tokens.ids([prefix + text for text in texts])
        runtime = self._runtime
        n_tokens = 0 if alone else runtime.tokens_per_batch
        batches = self._tokens.batches(ids, prefix, n_tokens, runtime.pads, prefix_rows)
        outputs = run_parallel(lambda batch: network(batch.ids, batch.mask), batches, runtime.workers)
        return zip((batch.indices for batch in batches), outputs, strict=True)

    def _empty(self, n_texts: int, context: EncodingContext | None) -> Floats:
        """An array (n, d) for the vectors of texts in a context."""
        return np.empty((n_texts, (context or self._null).whitening.dimension), np.float32)

    def _checked(self, vectors: Floats, n_texts: int, dimension: int) -> Floats:
        """The vectors as they are; raises ModelError unless they are (n_texts, dimension) finite numbers."""
        if vectors.shape != (n_texts, dimension) or not np.isfinite(vectors).all():
            raise ModelError(
                f"The model returns vectors that are not {dimension} finite numbers: its weights are broken.", AGAIN
            )
        return vectors
