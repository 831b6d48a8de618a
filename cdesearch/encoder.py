"""Texts to vectors: prefixes, length-sorted batches, the context; the networks run in one of two runtimes."""

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from cdesearch.batches import Integers, Limits, make_batches
from cdesearch.context import Context, Floats, TokenFrequencies
from cdesearch.errors import ModelError
from cdesearch.family import family_of
from cdesearch.hub import checkpoint_folder
from cdesearch.model.config import ModelConfig
from cdesearch.model.files import AGAIN, check_plain
from cdesearch.statistics import idf_weights, move, whitening

Role = Literal["query", "document"]
Device = Literal["auto", "cpu", "cuda", "mps"]
Output = TypeVar("Output")
Advance = Callable[[int], None]

MOST_BYTES_OF_TOKENIZER = 100_000_000  # the largest published ones have some 35 million
ROOM = 4  # tokens: two special ones, and some text
DEFAULT_MODEL = Path(__file__).parent / "default_model"


class Runtime(Protocol):
    """The networks on one device. Ids and mask are (B, S, T): texts, each read in S spans, and pooled whole.

    Every context input is as `Context` holds it.
    """

    workers: int  # batches that run at once
    tokens_per_batch: int
    pads: bool  # whether a batch may hold texts of different lengths
    reads_context: bool  # whether any gate is open; else first-stage vectors change nothing
    context_rows: int  # rows that stand before each text in a joint second stage

    def first_stage(self, input_ids: Integers, mask: Integers) -> Floats:
        """(B, d) first-stage vectors, not normalised."""

    def cache(self, vectors: Floats, is_null: NDArray[np.bool_]) -> tuple[Floats, Floats] | None:
        """Keys and values (L, J, d) of a context; None where the context is not let in, or joint."""

    def second_stage(self, input_ids: Integers, mask: Integers, context: Context) -> tuple[Floats, Floats]:
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
        self._check_room(max(len(prefix.ids), len(tokenizer.encode(config.query_prefix, add_special_tokens=False).ids)))
        self._null = self._null_context()

    def cut_at(self, max_tokens: int) -> "Encoder":
        """The same model, cutting texts to so many tokens if it reads more, prefix and special tokens included."""
        config = replace(self.config, max_tokens=min(max_tokens, self.max_tokens))
        return Encoder(config, self.tokenizer, self._runtime, f"{self.fingerprint} {config.max_tokens}")

    def count_tokens(self, texts: Sequence[str]) -> TokenFrequencies:
        """Document frequency of every token over `texts`."""
        counts = np.zeros(self.config.backbone.vocabulary, np.int64)
        for ids in self._ids(list(texts)):
            counts[np.unique(ids)] += 1
        return TokenFrequencies(counts, len(texts))

    def first_stage(self, texts: Sequence[str], advance: Advance = _unseen) -> Floats:
        """(n, d) first-stage vectors, not normalised; `advance` is told how many more are done."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for places, batch in self._run(texts, self.config.document_prefix, self._runtime.first_stage):
            vectors[places] = self._sound(batch, len(places))
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
        vectors: Floats,
        frequencies: TokenFrequencies,
        seed: int,
    ) -> Context:
        """All the second stage needs of a corpus, from the sampled texts and their first-stage `vectors` (J, d)."""
        bare = self.bare_context(chunk_ids, content_hashes, vectors, frequencies, seed)
        pooled = self.encode(texts, "document", bare)
        context = self.with_statistics(bare, content_hashes, pooled)
        return replace(context, sample_vectors=move(pooled, context.shift, context.projection))

    def bare_context(
        self,
        chunk_ids: Sequence[str],
        content_hashes: Sequence[str],
        vectors: Floats,
        frequencies: TokenFrequencies,
        seed: int,
    ) -> Context:
        """A context before its statistics: the second stage sees the sample, and its vectors are not moved yet."""
        cached = self._runtime.cache(vectors, np.zeros(len(vectors), bool))
        special = np.array(sorted(self.tokenizer.get_added_tokens_decoder()), np.int64)
        return replace(
            self._null,
            chunk_ids=tuple(chunk_ids),
            content_hashes=tuple(content_hashes),
            seed=seed,
            fingerprint=_fingerprint(self.fingerprint, content_hashes, frequencies, seed),
            vectors=vectors,
            keys=None if cached is None else cached[0],
            values=None if cached is None else cached[1],
            token_weights=idf_weights(frequencies, special, self.config.statistics.idf_exponent),
        )

    def with_statistics(self, bare: Context, content_hashes: Sequence[str], vectors: Floats) -> Context:
        """The same with the statistics head set by `vectors` (n, d), those of the hashed texts in `bare`."""
        shift, projection = whitening(vectors, self.config.statistics)
        digest = hashlib.blake2b(" ".join([bare.fingerprint, *content_hashes]).encode(), digest_size=16)
        return replace(bare, fingerprint=digest.hexdigest(), shift=shift, projection=projection)

    def fits(self, context: Context) -> bool:
        """Whether a stored context has the vocabulary, dimension and layers of this model."""
        null = self._null
        layers = [None if one.keys is None else one.keys.shape[::2] for one in (null, context)]
        return layers[0] == layers[1] and all(
            getattr(null, name).shape == getattr(context, name).shape for name in ("token_weights", "shift")
        )

    def encode(self, texts: Sequence[str], role: Role, context: Context | None) -> Floats:
        """(n, d) second-stage vectors of length 1, in the order of `texts`; a context of None is the null context."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for places, batch in self.stream(texts, role, context):
            vectors[places] = batch
        return vectors

    def stream(self, texts: Sequence[str], role: Role, context: Context | None) -> Iterator[tuple[Integers, Floats]]:
        """What `encode` gives, batch by batch as it is done: places in `texts` and their vectors.

        Shortest texts first, so that whoever stops and goes on with the rest gets the same batches as without the
        stop: in a quantised model a vector depends a little on what else is in its batch.
        """
        prefix = self.config.query_prefix if role == "query" else self.config.document_prefix
        for places, (_, vectors) in self._second_stage(texts, prefix, context or self._null):
            yield places, self._sound(vectors, len(places))

    def _second_stage(
        self, texts: Sequence[str], prefix: str, context: Context
    ) -> Iterator[tuple[Integers, tuple[Floats, Floats]]]:
        return self._run(
            texts, prefix, lambda ids, mask: self._runtime.second_stage(ids, mask, context), self._runtime.context_rows
        )

    def _run(
        self, texts: Sequence[str], prefix: str, network: Callable[[Integers, Integers], Output], rows_before: int = 0
    ) -> Iterator[tuple[Integers, Output]]:
        """Places and outputs of every batch, in order; as many batches at once as the runtime has workers."""
        runtime = self._runtime
        limits = Limits(self.max_tokens, self.config.span_tokens, runtime.tokens_per_batch, runtime.pads, rows_before)
        n_opening = 1 + len(self.tokenizer.encode(prefix, add_special_tokens=False).ids)
        batches = make_batches(self._ids([prefix + text for text in texts]), n_opening, limits)
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

    def _ids(self, texts: list[str]) -> list[list[int]]:
        """Token ids of every text; raises ModelError where the model knows none of that number."""
        try:
            found = [encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts)]
        except Exception as error:  # the tokenizers library raises bare Exception
            raise ModelError(f"The model's tokenizer fails ({error!s:.200}).", AGAIN) from None
        highest = max((max(ids, default=0) for ids in found), default=0)
        if highest >= self.config.backbone.vocabulary:
            raise ModelError(
                f"The model's tokenizer is of another model: it makes token {highest}, and the model knows"
                f" {self.config.backbone.vocabulary}.",
                AGAIN,
            )
        return found

    def _sound(self, vectors: Floats, n_texts: int) -> Floats:
        """The same vectors; raises ModelError where a broken model gives others than (n_texts, d) numbers."""
        if vectors.shape != (n_texts, self.dimension) or not np.isfinite(vectors).all():
            raise ModelError(
                f"The model gives vectors that are not {self.dimension} finite numbers: its weights are broken.", AGAIN
            )
        return vectors

    def _check_room(self, longest_prefix: int) -> None:
        """Raise ModelError where a prefix leaves no room for a text."""
        limit = min(self.config.max_tokens, self.config.span_tokens or self.config.max_tokens)
        if longest_prefix + ROOM > limit:
            raise ModelError(f"The model's prefixes leave no room for texts in {limit} tokens.", AGAIN)

    def _null_context(self) -> Context:
        """The learned null vector in every slot, equal token weights, an identity head."""
        d = self.dimension
        slots = self.config.context_size if self.config.context_attention == "joint" else 1
        vectors = np.full((slots, d), np.nan, np.float32)  # the runtimes read NaN rows as null slots
        cached = self._runtime.cache(np.zeros((slots, d), np.float32), np.ones(slots, bool))
        return Context(
            chunk_ids=(),
            content_hashes=(),
            seed=0,
            model_fingerprint=self.fingerprint,
            fingerprint="null",
            vectors=vectors,
            keys=None if cached is None else cached[0],
            values=None if cached is None else cached[1],
            token_weights=np.ones(self.config.backbone.vocabulary, np.float32),
            shift=np.zeros(d, np.float32),
            projection=np.eye(d, dtype=np.float32),
            sample_vectors=np.empty((0, d), np.float32),
        )


def check_model(model: Path | None) -> None:
    """Raise ModelError where `model` cannot be opened for a reason that is seen without loading it."""
    if model is None:
        return
    folder = checkpoint_folder(model)
    if family_of(folder) != "own":
        _require_torch(folder)


def load_encoder(model: Path | None = None, device: Device = "auto", *, fetch: bool = True) -> Encoder:
    """Open the checkpoint `model`, a folder or an id of the hub (None: the one that ships); raises ModelError.

    Without `fetch` an id must be in the cache. Pass what a manifest names through `stored_model` first.
    A CPU runs the ONNX export where there is one, without torch; CUDA, MPS and plain checkpoints run on torch, and so
    do released CDE models and the biencoders of sentence-transformers.
    """
    folder = DEFAULT_MODEL if model is None else checkpoint_folder(model, fetch=fetch)
    family = family_of(folder)
    if family != "own":
        return _open_foreign(folder, family, device)
    config = ModelConfig.load(folder)
    tokenizer_file = folder / "tokenizer.json"
    tokenizer = load_tokenizer(tokenizer_file)
    digest = hashlib.blake2b((folder / "config.json").read_bytes(), digest_size=16)
    digest.update(tokenizer_file.read_bytes())
    return Encoder(config, tokenizer, _open_runtime(folder, config.backbone.dimension, device), digest.hexdigest())


def load_tokenizer(file: Path) -> Tokenizer:
    """A tokenizer that neither cuts nor pads; raises ModelError."""
    check_plain(file, MOST_BYTES_OF_TOKENIZER)
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the tokenizers library raises bare Exception
        raise ModelError(f"{file} cannot be read ({error}).", "Copy the checkpoint again.") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _open_runtime(folder: Path, dimension: int, device: Device) -> Runtime:
    if device in ("auto", "cpu") and (folder / "onnx" / "second_stage.onnx").exists():
        from cdesearch.onnx_runtime import OnnxRuntime

        return OnnxRuntime(folder / "onnx", dimension)
    try:
        from cdesearch.torch_runtime import TorchRuntime
    except ImportError:
        raise ModelError(
            f"{folder} has no ONNX export for this device, and torch is not installed.",
            "Run `pip install 'cdesearch[gpu]'`.",
        ) from None
    return TorchRuntime.load(folder, device)


def _require_torch(folder: Path) -> None:
    if find_spec("torch") is None:
        raise ModelError(
            f"{folder} is not a checkpoint of cdesearch: it needs torch, which is not installed.",
            "Run `pip install 'cdesearch[gpu]'`.",
        )


def _open_foreign(folder: Path, family: Literal["released", "biencoder"], device: Device) -> Encoder:
    _require_torch(folder)
    from cdesearch.foreign import open_foreign

    foreign = open_foreign(folder, family, device, bert_tokenizer=DEFAULT_MODEL / "tokenizer.json")
    tokenizer = load_tokenizer(foreign.tokenizer)
    highest = max(tokenizer.get_vocab(with_added_tokens=True).values())
    if highest >= foreign.config.backbone.vocabulary:
        raise ModelError(
            f"{foreign.tokenizer} is of another model: it numbers tokens up to {highest}, and {folder} knows"
            f" {foreign.config.backbone.vocabulary}.",
            "Copy the checkpoint again, with its own tokenizer.",
        )
    return Encoder(foreign.config, tokenizer, foreign.runtime, foreign.fingerprint)


def _fingerprint(model: str, hashes: Sequence[str], frequencies: TokenFrequencies, seed: int) -> str:
    digest = hashlib.blake2b(f"{model} {seed} {frequencies.n_texts}".encode(), digest_size=16)
    digest.update(" ".join(hashes).encode())
    digest.update(frequencies.counts.tobytes())
    return digest.hexdigest()
