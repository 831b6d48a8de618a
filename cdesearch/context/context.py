"""The context of a corpus, in the four stages in which it is made.

NullContext      the learned null vector in every slot
ContextSample    the sampled chunks and what the second stage derives from them; vectors are not whitened yet
FittedContext    with the whitening, fitted to vectors that were encoded with the sample
Context          with the sampled chunks' vectors; an index stores it, and documents and queries share it
"""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from cdesearch.context.vectors import Floats
from cdesearch.context.whitening import Whitening
from cdesearch.errors import IndexDamagedError


@dataclass(frozen=True, slots=True)
class NetworkInputs:
    """What the networks read of a context."""

    # (J, d) of the first stage. If the networks read no context, these are pooled vectors, which the context head
    # attends to: zeros before they are computed.
    vectors: Floats
    is_null: NDArray[np.bool_]  # (J,) true for slots that hold the null vector instead
    keys: Floats | None  # (L, J, d) of the context rows in each gated layer; None if every gate is zero
    values: Floats | None  # (L, J, d); None together with the keys
    token_weights: Floats  # (V,) weight of each token of the vocabulary in idf pooling


@dataclass(frozen=True, slots=True)
class NullContext:
    """The absence of a context."""

    inputs: NetworkInputs
    whitening: Whitening  # the identity
    attended: None = None


@dataclass(frozen=True, slots=True)
class SampledChunks:
    """The chunks that were sampled, and the model that they were sampled for."""

    chunk_ids: tuple[str, ...]  # J
    content_hashes: tuple[str, ...]  # J
    seed: int
    model_fingerprint: str


@dataclass(frozen=True)
class ContextSample:
    """The sample, before any vectors of the corpus have been computed."""

    sampled: SampledChunks
    fingerprint: str  # of model, sampled texts, token weights and seed
    inputs: NetworkInputs
    whitening: Whitening  # the identity
    attended: Floats | None = None
    stored_vectors: ClassVar[tuple[str, ...]] = ()  # fields that a file has besides the inputs and the whitening

    def save(self, path: Path) -> None:
        """Write one safetensors file, flushed to disk."""
        names = ("vectors", "keys", "values", "token_weights")  # no slot of a sampled context is null
        arrays = {name: array for name in names if (array := getattr(self.inputs, name)) is not None}
        arrays |= asdict(self.whitening) | {name: getattr(self, name) for name in self.stored_vectors}
        described = json.dumps(asdict(self.sampled) | {"fingerprint": self.fingerprint})
        stored = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        with path.open("wb") as file:
            file.write(save(stored, {"context": described}))
            file.flush()
            os.fsync(file.fileno())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file written by `save`; raises IndexDamagedError."""
        try:
            with safe_open(path, framework="numpy") as file:
                described = json.loads(file.metadata()["context"])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no iterator)
            fingerprint = described.pop("fingerprint")
            lists = {name: tuple(described[name]) for name in ("chunk_ids", "content_hashes")}
            cached = arrays.get("keys"), arrays.get("values")
            is_null = np.zeros(len(arrays["vectors"]), bool)
            inputs = NetworkInputs(arrays["vectors"], is_null, *cached, arrays["token_weights"])
            whitening = Whitening(arrays["shift"], arrays["projection"])
            vectors = (arrays[name] for name in cls.stored_vectors)
            return cls(SampledChunks(**described | lists), fingerprint, inputs, whitening, *vectors)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise IndexDamagedError(
                f"The stored context {path} cannot be read ({error!s:.200}).", "Save the context again."
            ) from None


EncodingContext = NullContext | ContextSample  # a context of any stage, to encode texts with


@dataclass(frozen=True)
class FittedContext(ContextSample):
    """The sample with the whitening of its corpus. Its fingerprint is also one of the texts that were fitted."""

    # (m, n) unit vectors of the chunks in `attended_chunks`: whitened, and in the context of their documents
    attended: Floats = field()  # without the default of the sample
    stored_vectors: ClassVar[tuple[str, ...]] = ("attended",)

    @property
    def attended_chunks(self) -> tuple[str, ...]:
        """The ids (m) of the chunks of `attended`: the sampled ones that have a first-stage vector."""
        rows = zip(self.sampled.chunk_ids, self.inputs.vectors, strict=True)
        return tuple(chunk for chunk, vector in rows if vector.any())


@dataclass(frozen=True)
class Context(FittedContext):
    """The complete context of a corpus. Fixed when the index is built."""

    # (n, whitening.dimension) unit vectors of sampled chunks, n <= J; in an index, as its table holds them
    sample_vectors: Floats
    stored_vectors: ClassVar[tuple[str, ...]] = ("attended", "sample_vectors")

    @classmethod
    def of(cls, fitted: FittedContext, sample_vectors: Floats) -> "Context":
        """The complete context, from a fitted one and the vectors of its sampled chunks."""
        parts = fitted.sampled, fitted.fingerprint, fitted.inputs, fitted.whitening, fitted.attended
        return cls(*parts, sample_vectors)

    @property
    def sample(self) -> ContextSample:
        """The sample without the whitening; encoded with it, a text has its first-stage vector."""
        identity = Whitening.identity(len(self.whitening.shift))
        return ContextSample(self.sampled, self.fingerprint, self.inputs, identity)
